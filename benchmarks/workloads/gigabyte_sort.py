"""Sort of a gigabyte: records of 100 bytes by their first 10, in less memory than they take."""

from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from operator import le
from typing import Any
from zlib import crc32

from benchmarks.data import DataFolder
from benchmarks.stopwatch import Stopwatch
from benchmarks.workloads.sort_records import KEY_BYTES, RECORD_BYTES, key_of

ROWS = ("sort of 1 GB",)
RECORDS = {"small": 100_000, "standard": 10_000_000}
PARTITIONS = 16
ENGINES = ("pyrite", "pyspark")
# About as much for both: the pool and two executors; the heap, and PySpark's own 512 MB a worker.
SETTINGS = {
    "pyrite": {"pyrite.pool.memory": "512m", "spark.executor.memory": "256m"},
    "pyspark": {"spark.driver.memory": "1g"},
}
# So many at a time are looked at: a partition need not fit into memory.
LOOKED_AT = 10_000
Part = tuple[int, bool, bytes, bytes, int]


def inputs(data: DataFolder, scale: str) -> str:
    return data.sort_records(RECORDS[scale])


def described(partition: Iterable[bytes]) -> Iterator[Part]:
    """How many, whether in order, the first and last key, and a sum over all bytes."""
    records = iter(partition)
    count, in_order, total = 0, True, 0
    first = last = b""
    while some := list(islice(records, LOOKED_AT)):
        keys = [last, *(record[:KEY_BYTES] for record in some)]
        in_order = in_order and all(map(le, keys, keys[1:]))
        first, last = first or keys[1], keys[-1]
        total += sum(map(crc32, some))
        count += len(some)
    yield count, in_order, first, last, total


def rdd(sc: Any, path: str, watch: Stopwatch) -> Any:
    with watch.timed(ROWS[0]):
        records = sc.binaryRecords(path, RECORD_BYTES)
        ordered = records.sortBy(key_of, numPartitions=PARTITIONS)
        parts = ordered.mapPartitions(described).collect()
    return answer_of(parts)


def answer_of(parts: list[Part]) -> list[Any]:
    """The same for every engine, wherever it cuts its ranges."""
    filled = [part for part in parts if part[0]]
    counts, in_order, firsts, lasts, sums = zip(*filled, strict=True)
    borders_in_order = all(left[3] <= right[2] for left, right in pairwise(filled))
    is_sorted = all(in_order) and borders_in_order
    return [sum(counts), is_sorted, firsts[0].hex(), lasts[-1].hex(), sum(sums)]
