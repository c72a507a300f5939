"""Map outputs travel to their reducers while the maps still run, where the reducers' places are
known before: right answers, whatever ends in the middle."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from marks import Marks, wait_until
from test_deaths import wait_for_executors
from test_local_cluster import agree, nodes_of

from pyrite import RDD, SparkContext
from pyrite.ids import BlockRef
from pyrite.schedule.commands import FetchParts, LaunchTask
from pyrite.schedule.events import ExecutorLost, Made, OutputGrew, PartsFetched, TaskSucceeded

Start = Callable[..., SparkContext]

NODES = 3
# As many as there are executors: all of them run, and wait, at once.
MAPS = 3
REDUCERS = 6
KEYS = 31
# Rows are taken in thousands at a time: these are some blocks, and more come after the wait.
FIRST_ROWS = 10_000
ROWS = 20_000
ANSWER = {
    key: (-key, sum(range(key, ROWS, KEYS)) * MAPS, len(range(key, ROWS, KEYS)) * MAPS)
    for key in range(KEYS)
}


class Watch:
    """What a story tells of installments, and of what was fetched of them."""

    def __init__(self, sc: SparkContext) -> None:
        self.grown: Counter[int] = Counter()
        self.numbers: dict[int, tuple[int, ...]] = {}
        self.fetched_early: list[int] = []
        self.done = 0
        self.lost = 0
        self.told = 0
        self.used = 0
        sc._engine.story.listeners.append(self.listen)

    def listen(self, now_s: float, event: Any, commands: list[Any]) -> None:
        match event:
            case OutputGrew():
                self.grown[event.attempt] += 1
            case TaskSucceeded(made=(Made(output=BlockRef()), *_)):
                self.done += 1
            case PartsFetched() if not self.done:
                # Something of what is kept may still be on its way.
                self.fetched_early += self.numbers.get(event.fetch, ())
            case ExecutorLost():
                self.lost += 1
        for command in commands:
            match command:
                case FetchParts():
                    self.numbers[command.fetch] = command.maps
                case LaunchTask():
                    self.told += sum(len(each.installments) for each in command.inputs)
                    self.used += len(command.parcels)


class Bench:
    """A join of fresh rows with what is kept, whose maps stop in the middle."""

    def __init__(self, sc: SparkContext, marks: Marks) -> None:
        wait_for_executors(sc)
        self.sc = sc
        self.marks = marks
        self.user = ThreadPoolExecutor(1)
        self.kept = sc.parallelize([(key, -key) for key in range(KEYS)]).partitionBy(REDUCERS)
        self.kept.persist().count()
        self.watch = Watch(sc)
        self.folders = [path for node in nodes_of(sc).values() for path in node.folders[:2]]
        self.job: Future[list[Any]] | None = None

    def program(self) -> RDD[Any]:
        marks = self.marks

        def make(index: int, _: Iterator[int]) -> Iterator[tuple[int, int]]:
            for row in range(ROWS):
                if row == FIRST_ROWS:
                    marks.add("map waits")
                    marks.wait("maps go on")
                yield row % KEYS, row

        def add_up(rows: Iterator[Any]) -> Iterator[Any]:
            found: dict[int, tuple[int, int, int]] = {}
            for key, (kept, row) in rows:
                _, total, count = found.get(key, (0, 0, 0))
                found[key] = kept, total + row, count + 1
            return iter(found.items())

        fresh = self.sc.range(MAPS, numSlices=MAPS).mapPartitionsWithIndex(make)
        return self.kept.join(fresh, REDUCERS).mapPartitions(add_up)

    def begin(self) -> None:
        self.job = self.user.submit(lambda: self.program().collect())
        self.marks.wait("map waits", MAPS)

    def end(self) -> None:
        assert self.job is not None
        self.marks.add("maps go on")
        assert dict(self.job.result(100)) == ANSWER
        self.user.shutdown()
        outputs = self.sc._engine.scheduler.outputs._shuffles.values()
        assert not self.sc._engine.scheduler.attempts._attempts
        adopted = [
            number for each in outputs for numbers in each.numbers.values() for number in numbers
        ]
        assert sorted(adopted) == sorted(number for each in outputs for number in each.partials)
        wait_until(
            lambda: not self.sc._engine.scheduler.segments._by_fetch, "the end of the parcels"
        )
        agree(self.sc)
        self.sc.stop()
        assert not any(map(os.path.exists, self.folders))


@pytest.fixture
def begin(start: Start, marks: Marks) -> Iterator[Callable[[str], Bench]]:
    made: list[Bench] = []

    def begin(buffer: str) -> Bench:
        sc = start(
            f"local-cluster[{NODES},1,512m]",
            pyrite__shuffle__small="0",
            pyrite__shuffle__tiny="0",
            pyrite__shuffle__inFlight="256k",
            pyrite__shuffle__buffer=buffer,
        )
        made.append(Bench(sc, marks))
        made[-1].begin()
        return made[-1]

    yield begin
    marks.add("maps go on")
    for bench in made:
        bench.user.shutdown(cancel_futures=True)


def test_parts_arrive_before_the_first_map_has_ended(begin: Callable[[str], Bench]) -> None:
    bench = begin("1k")
    watch = bench.watch
    wait_until(lambda: len(watch.grown) == MAPS, "installments of all maps")
    wait_until(lambda: len(set(watch.fetched_early)) >= MAPS, "parcels of installments")
    assert watch.done == 0
    assert min(watch.fetched_early) >= MAPS
    bench.end()
    assert watch.told and watch.used and min(watch.grown.values()) > 2


def test_all_is_written_at_the_end_where_nobody_wants_installments(
    begin: Callable[[str], Bench],
) -> None:
    bench = begin("0")
    bench.end()
    assert not bench.watch.grown and not bench.watch.told and not bench.watch.fetched_early


def test_an_executor_that_is_killed_between_installments(begin: Callable[[str], Bench]) -> None:
    bench = begin("1k")
    watch = bench.watch
    wait_until(lambda: len(set(watch.fetched_early)) >= MAPS, "parcels of installments")
    links = bench.sc._engine.cluster.by_id.values()  # type: ignore[attr-defined]
    [pid] = [each.pid for each in links if each.node == "node-1" and each.joined]
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: watch.lost, "the executor's loss")
    bench.marks.wait("map waits", MAPS + 1)
    bench.end()
    assert len(watch.grown) == MAPS + 1
