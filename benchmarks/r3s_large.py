"""Kept partitions that are larger than an executor: in other nodes' pools, on disk, as live rows.

python -m benchmarks.r3s_large NAME runs one way and prints JSON.
"""

import json
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from benchmarks.r3s_watch import Watcher
from benchmarks.report import aligned
from pyrite import SparkConf, SparkContext, StorageLevel

MIB = 1 << 20
NODES = 2
EXECUTOR_BYTES = 64 * MIB
TIMES = 3
PASSES = 3
ROW_BYTES = 4096
ROWS = TIMES * EXECUTOR_BYTES // ROW_BYTES


class Way(NamedTuple):
    """A level, and the pools' memory: of each node, and of a storage-only one."""

    level: str
    pool_mib: int
    storage_mib: int = 0


WAYS = {
    "pooled, own nodes": Way("OFF_HEAP", 224),
    "pooled, half on a storage-only node": Way("OFF_HEAP", 112, 256),
    "pooled, half on disk": Way("OFF_HEAP", 112),
    "live rows, the rest on disk": Way("MEMORY_AND_DISK", 24),
    "on disk": Way("DISK_ONLY", 24),
    "computed again": Way("MEMORY_ONLY", 24),
}


def rows_of(index: int) -> Iterator[bytes]:
    """One partition, of three times an executor's memory."""
    for number in range(ROWS):
        yield b"%d %d" % (index, number) + bytes([number % 251]) * (ROW_BYTES - 64)


def run(way: Way) -> dict[str, Any]:
    """Stores the set, and reads it several times."""
    storage = f",1x{way.storage_mib}m" if way.storage_mib else ""
    conf = SparkConf().setMaster(f"local-cluster[{NODES},1,1g{storage}]").setAppName("large")
    conf.set("spark.executor.memory", f"{EXECUTOR_BYTES // MIB}m")
    conf.set("pyrite.pool.memory", f"{way.pool_mib}m")
    with SparkContext(conf=conf) as sc:
        sc.parallelize(range(8), 8).count()
        watcher = Watcher(sc, EXECUTOR_BYTES)
        rows = sc.parallelize(range(NODES), NODES).flatMap(rows_of)
        rows.persist(getattr(StorageLevel, way.level))
        times = []
        for _ in range(1 + PASSES):
            began_s = time.perf_counter()
            assert rows.map(len).sum() > NODES * ROWS * (ROW_BYTES - 64)
            times.append(time.perf_counter() - began_s)
        peaks = watcher.finish()
    of_limit = max(each["peak_bytes"] / EXECUTOR_BYTES for each in peaks["executors"])
    return {"first_s": times[0], "passes_s": sum(times[1:]), "of_limit": of_limit}


def table(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    """The best of each way."""
    lines = [
        f"**Partitions of {TIMES} times an executor's memory** ({EXECUTOR_BYTES // MIB} MB): one "
        f"for each of {NODES} nodes, of rows of {ROW_BYTES // 1024} KB; {PASSES} passes. Peak: of "
        "an executor's own memory, over its limit.",
        "",
    ]
    cells = [["kept", "first pass", f"{PASSES} passes", "peak"]]
    for name, outcomes in found.items():
        if outcomes:
            first_s = min(each["first_s"] for each in outcomes)
            passes_s = min(each["passes_s"] for each in outcomes)
            peak = max(each["of_limit"] for each in outcomes)
            cells.append([name, f"{first_s:.2f} s", f"{passes_s:.2f} s", f"{peak:.2f}"])
    return lines + aligned(cells)


def main() -> None:
    """Run the way named, print what came of it."""
    print(json.dumps(run(WAYS[sys.argv[1]])))


if __name__ == "__main__":
    main()
