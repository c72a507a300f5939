"""What knowing the work that is under way is worth to the pool: each switch on, and off.

python -m benchmarks.r3s_switches SWITCH true|false runs one of them and prints JSON.
"""

import json
import sys
import time
from collections.abc import Callable
from threading import Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrite import SparkConf, SparkContext, StorageLevel
from pyrite.settings import BY_NAME

MIB = 1 << 20
POOL_MIB = 128
NODES = 2
READERS = 8
# A partition that is late comes after several large ones.
LATE_S = 0.03
Block = NDArray[np.float64]


def block_of(index: int, mebibytes: float = 1.0) -> Block:
    """Nearly so many MiB of numbers, so that 16 MiB of blocks fill a segment with their frames."""
    return np.random.default_rng(index).random(int(mebibytes * MIB / 8 * 0.99))


def stored(sc: Any, count: int, make: Callable[[int], Block] = block_of) -> Any:
    return sc.parallelize(range(count), count).map(make).persist(StorageLevel.OFF_HEAP)


def total(blocks: Any) -> float:
    found: float = blocks.map(lambda block: float(block.sum())).sum()
    return found


def lookahead(sc: Any) -> float:
    """Queued jobs will read what was used longest ago, while another job stores.

    Both pools are full, of `wanted` and of `idle` to equal parts. Who only knows the last use
    gives up `wanted`, which is read eight times as soon as the new set is stored.
    """
    half = NODES * POOL_MIB // 2
    wanted, idle, new = (stored(sc, half) for _ in range(3))
    total(wanted)
    total(idle)
    threads = [Thread(target=total, args=(each,)) for each in (new, *[wanted] * READERS)]
    began_s = time.perf_counter()
    for thread in threads:
        _start_job(sc, thread)
    for thread in threads:
        thread.join()
    return time.perf_counter() - began_s


def _start_job(sc: Any, thread: Thread) -> None:
    """Starts the thread and waits for its job, since jobs are queued as they are submitted."""
    tracker = sc.statusTracker()
    jobs = len(tracker.getJobIdsForGroup())
    thread.start()
    while len(tracker.getJobIdsForGroup()) == jobs and thread.is_alive():
        time.sleep(0.001)


def reserve(sc: Any) -> float:
    """One node stores more than it has room for, while its neighbour has yet to store its own.

    Odd partitions are large and made at once; even ones fill the neighbour's pool, and take their
    time. That pool looks empty then, and what is laid there must move on to the storage-only node
    when the neighbour's own data come.
    """
    places = sc.parallelize(range(POOL_MIB), POOL_MIB).map(_slowly).persist()
    # Live rows: each executor has taken every other partition, and gets the same ones again.
    places.count()
    blocks = places.map(_large_or_late).persist(StorageLevel.OFF_HEAP)
    began_s = time.perf_counter()
    total(blocks)
    return time.perf_counter() - began_s


def _slowly(index: int) -> int:
    time.sleep(0.005)
    return index


def _large_or_late(index: int) -> Block:
    if index % 2:
        return block_of(index, 3.0)
    time.sleep(LATE_S)
    # Eight of them fill a segment, and half as many as the pool has MiB fill the pool.
    return block_of(index, 1.88)


SWITCHES: dict[str, Callable[[Any], float]] = {"lookahead": lookahead, "reserve": reserve}
# Room for what the first node has too much.
STORAGE_MIB = {"lookahead": 0, "reserve": POOL_MIB * 3 // 4}


def run(name: str, state: str) -> dict[str, Any]:
    """Seconds, and what the pool did; a switch or a report that is not there is left out."""
    setting = f"pyrite.pool.{name}"
    storage = f",1x{STORAGE_MIB[name]}m" if STORAGE_MIB[name] else ""
    conf = SparkConf().setMaster(f"local-cluster[{NODES},1,2g{storage}]")
    conf.set("pyrite.pool.memory", f"{POOL_MIB}m").set("spark.ui.showConsoleProgress", "false")
    if setting in BY_NAME:
        conf.set(setting, state)
    sc = SparkContext(conf=conf)
    try:
        sc.parallelize(range(8), 8).map(block_of).count()
        answer: dict[str, Any] = {"seconds": SWITCHES[name](sc), "is_known": setting in BY_NAME}
        if ask := getattr(sc, "memory", None):
            report = ask()
            answer["moved_bytes"] = report.moved_bytes
            answer["spilled_bytes"] = report.spilled_bytes
            answer["hits"] = report.hits.ratios()
        return answer
    finally:
        sc.stop()


def main() -> None:
    """Run one switch in one state."""
    name, state = sys.argv[1:]
    print(json.dumps(run(name, state)))


if __name__ == "__main__":
    main()
