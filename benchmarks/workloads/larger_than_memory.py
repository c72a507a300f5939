"""A cached set larger than memory: four passes over rows of which a part must live on disk."""

import marshal
import sys
import tempfile
from itertools import chain, islice
from typing import Any

from benchmarks.data import DataFolder
from benchmarks.engines import module_of
from benchmarks.pair import Pair, half
from benchmarks.stopwatch import Stopwatch

ROWS = ("cached set larger than memory, 4 passes",)
RECORDS = {"small": 100_000, "standard": 3_000_000}
PASSES = 4
PARTITIONS = 16
# Live, the standard set takes about 765 MB. The JVM does not start with less than 450 MiB.
# Pyrite's limit is that of two executors and their pool; the JVM's is its heap, its Python workers
# come on top; by hand it is that of the two processes.
LIMIT_BYTES = 512 << 20
SETTINGS = {
    "pyrite": {"spark.executor.memory": "224m", "pyrite.pool.memory": "64m"},
    "pyspark": {"spark.driver.memory": "512m"},
}
BATCH = 10_000
Record = tuple[int, str]


def inputs(data: DataFolder, scale: str) -> int:
    return RECORDS[scale]


def record_of(number: int) -> Record:
    return number, f"{number * 2654435761 % 1_000_000_007:0>110}"


def weight(record: Record) -> int:
    number, text = record
    return number ^ len(text)


def rdd(sc: Any, count: int, watch: Stopwatch) -> Any:
    level = module_of(sc).StorageLevel.MEMORY_AND_DISK
    records = sc.range(count, numSlices=PARTITIONS).map(record_of).persist(level)
    with watch.timed(ROWS[0]):
        return [records.map(weight).sum() for _ in range(PASSES)]


def hand(count: int, watch: Stopwatch) -> Any:
    with Pair(_pass_over_half, count) as pair, watch.timed(ROWS[0]):
        return [sum(pair.ask()) for _ in range(PASSES)]


def _pass_over_half(peer: Any, count: int) -> Any:
    rows = map(record_of, half(count, peer.index))
    # A fifth is left to the interpreter and to the batch that is on its way from disk.
    room = int(LIMIT_BYTES / 2 * 0.8 / _live_bytes(record_of(count)))
    kept = list(islice(rows, room))
    with tempfile.TemporaryFile() as file:
        sizes_bytes = []
        while batch := list(islice(rows, BATCH)):
            sizes_bytes.append(file.write(marshal.dumps(batch)))
        while True:
            file.seek(0)
            spilled = (marshal.loads(file.read(size)) for size in sizes_bytes)
            yield sum(map(weight, chain(kept, chain.from_iterable(spilled))))


def _live_bytes(record: Record) -> int:
    place_in_list = 8
    return sys.getsizeof(record) + sum(map(sys.getsizeof, record)) + place_in_list
