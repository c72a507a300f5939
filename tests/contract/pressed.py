"""A program that is interrupted by Ctrl-C twice in each round, wherever it is just then.

It says on its output what it begins; whoever presses the keys says on its input when both are
pressed. After each round nothing may be left of what was interrupted, and the context must work.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path
from random import Random

import psutil
from idle import assert_nothing_left
from marks import wait_until
from programs import alive, descendants

from pyrite import SparkConf, SparkContext, StorageLevel

# Segments that the driver writes to, and connections to other nodes, stay open for the next use.
MOST_FILES = 10


class Pressed:
    """The program: rounds of work, each of another kind."""

    def __init__(self, folder: str, master: str, processes: int) -> None:
        self.folder = Path(folder)
        self.master = master
        # So many belong to a context that runs.
        self.processes = processes
        self.saves = 0
        # Threads and open files after the first round.
        self.first: tuple[int, int] | None = None

    def start(self) -> SparkContext:
        conf = SparkConf(False).setMaster(self.master).setAppName("pressed")
        conf.set("spark.local.dir", str(self.folder / "scratch")).set("pyrite.cancel.grace", "1s")
        conf.set("spark.checkpoint.dir", str(self.folder / "checkpoints"))
        return SparkContext(conf=conf)

    def context(self) -> SparkContext:
        return SparkContext._active_spark_context or self.start()

    # What is interrupted

    def count(self, sc: SparkContext) -> None:
        assert sc.parallelize(range(100), 4).map(lambda x: x + 1).count() == 100

    def shuffle(self, sc: SparkContext) -> None:
        pairs = sc.parallelize(range(1000), 4).map(lambda x: (x % 10, x))
        assert pairs.reduceByKey(max, 3).sortByKey().keys().collect() == list(range(10))

    def results_in_the_pool(self, sc: SparkContext) -> None:
        assert len(sc.parallelize(range(4), 4).map(lambda x: bytes(1 << 18)).collect()) == 4

    def rows_in_the_pool(self, sc: SparkContext) -> None:
        rdd = sc.parallelize([bytes(1000)] * 4000, 4).persist(StorageLevel.OFF_HEAP)
        assert rdd.count() == rdd.count() == 4000

    def broadcast(self, sc: SparkContext) -> None:
        held = sc.broadcast(bytes(1 << 20))
        assert sc.parallelize(range(4), 2).map(lambda x: len(held.value)).sum() == 4 << 20
        held.destroy()

    def endless_task(self, sc: SparkContext) -> None:
        sc.parallelize(range(2), 2).foreach(lambda x: time.sleep(3600))

    def iterator(self, sc: SparkContext) -> None:
        rows = sc.parallelize(range(8), 8).map(lambda x: bytes(1 << 18))
        for number, row in enumerate(rows.toLocalIterator(prefetchPartitions=True)):
            assert len(row) == 1 << 18
            if number == 5:
                break

    def by_a_deadline(self, sc: SparkContext) -> None:
        sc.parallelize(range(4), 4).map(lambda x: time.sleep(x / 50)).countApprox(20)

    def checkpoints(self, sc: SparkContext) -> None:
        rdd = sc.parallelize(range(100), 2).map(lambda x: x + 1)
        rdd.checkpoint()
        assert rdd.count() == 100 and rdd.isCheckpointed()
        local = rdd.map(lambda x: x + 1)
        local.localCheckpoint()
        assert local.count() == local.count() == 100

    def save(self, sc: SparkContext) -> None:
        self.saves += 1
        sc.parallelize(range(8), 8).saveAsTextFile(str(self.folder / "saved" / str(self.saves)))

    def memory(self, sc: SparkContext) -> None:
        for _ in range(20):
            assert sc.memory().nodes

    def accumulator(self, sc: SparkContext) -> None:
        total = sc.accumulator(0)
        sc.parallelize(range(8), 8).foreach(total.add)
        assert total.value == 28

    def stop(self, sc: SparkContext) -> None:
        sc.stop()

    def stop_and_start(self, sc: SparkContext) -> None:
        sc.stop()
        self.start()

    # What must be there afterwards

    def check(self) -> None:
        sc = self.context()
        assert_nothing_left(sc)
        saved = self.folder / "saved"
        if saved.exists():
            whole = [(each / "_SUCCESS").exists() for each in saved.iterdir()]
            assert all(whole), f"half a save: {list(saved.iterdir())}"
        wait_until(lambda: len(self.checkpoints_under_way()) == 0, "no half checkpoint")
        gc.collect()
        wait_until(
            lambda: len(alive(descendants(os.getpid()))) == self.processes,
            f"{self.processes} processes and no more",
        )
        now = threading.active_count(), psutil.Process().num_fds()
        self.first = self.first or now
        assert now[0] == self.first[0], threading.enumerate()
        assert now[1] <= self.first[1] + MOST_FILES

    def checkpoints_under_way(self) -> list[Path]:
        return list((self.folder / "checkpoints").glob("*/.*"))


WORKS = (
    *("count", "shuffle", "results_in_the_pool", "rows_in_the_pool", "broadcast", "iterator"),
    *("endless_task", "by_a_deadline", "checkpoints", "save", "memory", "accumulator"),
    *("stop", "stop_and_start"),
)


class Keys:
    """How often both keys were pressed; another thread reads it, which no interrupt reaches."""

    def __init__(self) -> None:
        self.pressed = 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while os.read(0, 1):
            self.pressed += 1


class Rounds:
    """One round after another; interrupts that come between them are none."""

    def __init__(self, pressed: Pressed, seed: int, rounds: int) -> None:
        self.pressed = pressed
        self.keys = Keys()
        dice = Random(seed)
        self.names = [dice.choice(WORKS) for _ in range(rounds)]
        self.armed = False
        self.problem: BaseException | None = None
        signal.signal(signal.SIGINT, self.interrupt)

    def interrupt(self, *_: object) -> None:
        if self.armed:
            raise KeyboardInterrupt

    def run(self) -> None:
        for number, name in enumerate(self.names):
            sc = self.pressed.context()
            # Two may come, also where the one before is caught.
            interrupts = suppress(KeyboardInterrupt)
            with interrupts, interrupts, interrupts:
                try:
                    self.armed = True
                    os.write(1, f"{number} {name}\n".encode())
                    getattr(self.pressed, name)(sc)
                except Exception as error:
                    self.problem = error
                self.armed = False
            self.armed = False
            wait_until(lambda n=number: self.keys.pressed > n, "both keys")
            del sc
            self.check(f"in round {number}, {name}")

    def check(self, where: str) -> None:
        try:
            if self.problem is not None:
                raise self.problem
            self.pressed.check()
        except BaseException as error:
            traceback.print_exception(error)
            os.write(2, f"{where}\n".encode())
            os._exit(1)


def main(folder: str, master: str, processes: int, seed: int, rounds: int) -> None:
    pressed = Pressed(folder, master, processes)
    every = Rounds(pressed, seed, rounds)
    for name in WORKS:
        if name != "endless_task":
            getattr(pressed, name)(pressed.context())
    pressed.check()
    every.run()
    pressed.context().stop()
    print("end", flush=True)
