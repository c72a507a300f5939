"""Faults while the input of reducers travels ahead of them: right answers, and only what was lost
is made again."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from glob import glob
from typing import Any

import pytest
from marks import Marks, wait_until
from nodeprocesses import node_pid
from test_deaths import executor_pids, wait_for_executors
from test_local_cluster import agree, nodes_of

from pyrite import RDD, SparkContext
from pyrite.blocks.fetched import Stretch
from pyrite.ids import BlockRef
from pyrite.schedule.commands import FetchParts, LaunchTask
from pyrite.schedule.events import PartsFetched, TaskOutput, TaskSucceeded

Start = Callable[..., SparkContext]

NODES = 3
MAPS = 18
# The maps from here on wait until they are told to go on.
LATE = 9
REDUCERS = 9
ROWS = 5400
KEYS = 97
ROW_BYTES = 1000
ANSWER = {key: (len(range(key, ROWS, KEYS)), sum(range(key, ROWS, KEYS))) for key in range(KEYS)}
# Prefetched segments share files.
PREFETCHED = "ahead-*"


class Watch:
    """What a story tells of a job: which maps were done where, and what was fetched ahead."""

    def __init__(self, sc: SparkContext) -> None:
        self.partitions: dict[int, int] = {}
        self.made: dict[int, list[Any]] = {}
        # Where prefetched segments lie, by their orders, and those that have arrived.
        self.places: dict[int, tuple[str, Stretch]] = {}
        self.fetched: list[tuple[str, Stretch]] = []
        self.used = 0
        sc._engine.story.listeners.append(self.listen)

    def listen(self, now_s: float, event: Any, commands: list[Any]) -> None:
        match event:
            case TaskSucceeded(made=(TaskOutput(output=BlockRef() as ref), *_)):
                self.made.setdefault(self.partitions[event.attempt], []).append(ref)
            case PartsFetched():
                self.fetched.append(self.places[event.fetch])
        for command in commands:
            if isinstance(command, LaunchTask):
                self.partitions[command.attempt] = command.partitions[0]
                self.used += len(command.prefetched)
            if isinstance(command, FetchParts) and command.stretch is not None:
                self.places[command.fetch] = command.node, command.stretch

    def again(self) -> set[int]:
        """The maps that were done more than once."""
        return {index for index, refs in self.made.items() if len(refs) > 1}

    def first_on(self, node: str) -> set[int]:
        """The maps whose first output lay on the node."""
        return {index for index, refs in self.made.items() if refs[0].node == node}


class Bench:
    """A job in two acts: it stops in the middle of its maps, and where its reducers start."""

    def __init__(self, sc: SparkContext, marks: Marks) -> None:
        self.sc = sc
        self.marks = marks
        self.watch = Watch(sc)
        self.folders = [path for node in nodes_of(sc).values() for path in node.folders[:2]]
        self.user = ThreadPoolExecutor(1)
        self.job: Future[list[Any]] | None = None

    def program(self) -> RDD[Any]:
        marks = self.marks

        def make(index: int, numbers: Iterator[int]) -> Iterator[tuple[int, bytes]]:
            if index >= LATE:
                marks.add("late map")
                marks.wait("maps go on")
            return ((x % KEYS, x.to_bytes(8, "big") + bytes(ROW_BYTES)) for x in numbers)

        def reduce(rows: Iterator[tuple[int, bytes]]) -> Iterator[Any]:
            marks.add("reducer")
            marks.wait("reducers go on")
            found: dict[int, tuple[int, int]] = {}
            for key, value in rows:
                count, total = found.get(key, (0, 0))
                found[key] = count + 1, total + int.from_bytes(value[:8], "big")
            return iter(found.items())

        numbers = self.sc.range(ROWS, numSlices=MAPS)
        return numbers.mapPartitionsWithIndex(make).partitionBy(REDUCERS).mapPartitions(reduce)

    def begin(self) -> None:
        """Half of the maps are done, some of their parts have travelled, and others run."""
        self.job = self.user.submit(lambda: self.program().collect())
        wait_until(lambda: len(self.watch.made) >= LATE, "the first maps")
        wait_until(lambda: len(self.watch.fetched) > NODES, "prefetched segments")
        self.marks.wait("late map", NODES)

    def begin_reducing(self) -> None:
        self.begin()
        self.marks.add("maps go on")
        self.marks.wait("reducer", NODES)

    def end(self) -> None:
        """The answer is right, nothing is left, and prefetched segments were of use."""
        assert self.job is not None
        self.marks.add("maps go on")
        self.marks.add("reducers go on")
        assert dict(self.job.result(100)) == ANSWER
        assert self.watch.used > 0
        self.user.shutdown()
        wait_until(lambda: not self.prefetched(), "the end of the prefetched segments")
        wait_until(lambda: len(nodes_of(self.sc)) == NODES + 1, "all nodes")
        agree(self.sc)
        self.folders += [path for node in nodes_of(self.sc).values() for path in node.folders[:2]]
        self.sc.stop()
        assert not any(map(os.path.exists, self.folders))

    def prefetched(self) -> list[str]:
        """The files of all prefetched segments there are."""
        memories = [node.folders.memory for node in list(nodes_of(self.sc).values())]
        return sorted(
            path for memory in memories for path in glob(os.path.join(memory, PREFETCHED))
        )

    def complete_prefetched(self) -> list[tuple[str, Stretch]]:
        """Those that have arrived, and their files: the others are being written through maps."""
        memories = {id: node.folders.memory for id, node in nodes_of(self.sc).items()}
        found = [
            (os.path.join(memories[node], stretch.file), stretch)
            for node, stretch in list(self.watch.fetched)
        ]
        return [(path, stretch) for path, stretch in found if os.path.exists(path)]

    def kill(self, part: str) -> None:
        """Ends a process of a node."""
        node = nodes_of(self.sc)["node-1"]
        if part == "executor":
            [pid] = [
                each.pid
                for each in self.sc._engine.cluster.by_id.values()
                if each.node == "node-1" and each.pid in executor_pids(self.sc)
            ]
        else:
            pid = node_pid(self.sc, "node-1", part)
        os.kill(pid, signal.SIGKILL)
        if part != "executor":
            wait_until(lambda: nodes_of(self.sc).get("node-1") is not node, "the node's loss")


@pytest.fixture
def bench(start: Start, marks: Marks) -> Iterator[Bench]:
    sc = start(
        f"local-cluster[{NODES},1,512m]",
        pyrite__shuffle__small="0",
        pyrite__shuffle__tiny="0",
        # Orders of some tens of kilobytes each.
        pyrite__shuffle__inFlight="256k",
    )
    wait_for_executors(sc)
    made = Bench(sc, marks)
    yield made
    marks.add("maps go on")
    marks.add("reducers go on")
    made.user.shutdown(cancel_futures=True)


PARTS = ["executor", "server", "agent"]


@pytest.mark.parametrize("part", PARTS)
def test_killed_while_maps_run(bench: Bench, part: str) -> None:
    bench.begin()
    # Blocks outlive executors.
    lost = set() if part == "executor" else bench.watch.first_on("node-1")
    bench.kill(part)
    bench.end()
    assert bench.watch.again() == lost


@pytest.mark.parametrize("part", PARTS)
def test_killed_while_reducers_run(bench: Bench, part: str) -> None:
    bench.begin_reducing()
    lost = set() if part == "executor" else bench.watch.first_on("node-1")
    bench.kill(part)
    bench.end()
    assert bench.watch.again() == lost


def spoil(data: bytes) -> bytes:
    """Changes every byte behind the directory's first."""
    return data[:8] + bytes(each ^ 0xFF for each in data[8:])


def spoil_end(data: bytes) -> bytes:
    """Changes bytes of the last rows only."""
    end = len(data.rstrip(b"\0"))
    return data[: end - 64] + bytes(each ^ 0xFF for each in data[end - 64 : end]) + data[end:]


def halve(data: bytes) -> bytes:
    return data[: len(data) // 2] + bytes(len(data) - len(data) // 2)


def empty(data: bytes) -> bytes:
    return bytes(len(data))


@pytest.mark.parametrize("harm", [spoil, spoil_end, halve, empty, None])
def test_prefetched_segments_that_are_spoilt_are_read_where_they_came_from(
    bench: Bench, harm: Callable[[bytes], bytes] | None
) -> None:
    bench.begin()
    harmed = bench.complete_prefetched()
    for path, stretch in harmed:
        if harm is None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        else:
            with open(path, "r+b") as file:
                data = os.pread(file.fileno(), stretch.size_bytes, stretch.offset)
                os.pwrite(file.fileno(), harm(data), stretch.offset)
    bench.end()
    assert harmed and bench.watch.again() == set()


def test_map_outputs_that_are_deleted_are_made_again_alone(bench: Bench) -> None:
    bench.begin()
    before = set(executor_pids(bench.sc))
    lost = bench.watch.first_on("node-1")
    [segment] = {bench.watch.made[index][0].segment for index in lost}
    # Who wrote them still has their file, and would write into it.
    bench.kill("executor")
    wait_until(lambda: set(executor_pids(bench.sc)) - before, "an executor in its place")
    os.unlink(os.path.join(nodes_of(bench.sc)["node-1"].folders.memory, segment))
    bench.end()
    assert bench.watch.again() == lost
