"""groupByKey of a gigabyte: records of 100 bytes in about a million groups of ten."""

from collections.abc import Iterable, Iterator
from operator import add
from typing import Any

from benchmarks.stopwatch import Stopwatch
from benchmarks.workloads import gigabyte_sort
from benchmarks.workloads.gigabyte_sort import PARTITIONS
from benchmarks.workloads.sort_records import KEY_BYTES, RECORD_BYTES

ROWS = ("groupByKey of 1 GB",)
GROUPS = 1_000_000
ENGINES = gigabyte_sort.ENGINES
SETTINGS = gigabyte_sort.SETTINGS
inputs = gigabyte_sort.inputs


def keyed(record: bytes) -> tuple[int, bytes]:
    return int.from_bytes(record[:8], "big") % GROUPS, record[KEY_BYTES:]


def described(groups: Iterable[tuple[int, Iterable[bytes]]]) -> Iterator[tuple[int, int, int]]:
    """How many groups and values, and a number that tells other groups from these."""
    count = values_count = told = 0
    for key, values in groups:
        size = len(values)  # type: ignore[arg-type]
        count += 1
        values_count += size
        told += key * size * size
    yield count, values_count, told


def rdd(sc: Any, path: str, watch: Stopwatch) -> Any:
    with watch.timed(ROWS[0]):
        groups = sc.binaryRecords(path, RECORD_BYTES).map(keyed).groupByKey(PARTITIONS)
        found = groups.mapPartitions(described).reduce(lambda a, b: tuple(map(add, a, b)))
    return list(found)
