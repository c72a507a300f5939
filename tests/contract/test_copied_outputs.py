"""Nodes die whose map outputs have copies: right answers, and no map is computed again."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from glob import glob
from typing import Any

import pytest
from marks import Marks, wait_until
from nodeprocesses import PARTS, node_pid
from test_deaths import wait_for_executors
from test_local_cluster import agree, nodes_of

from pyrite import RDD, SparkContext
from pyrite.cluster.node.kin import send_signal
from pyrite.schedule.outputs import ShuffleOutputs

Start = Callable[..., SparkContext]

NODES = 3
MAPS = 8
ROWS = 4000
KEYS = 50
ANSWER = {key: sum(range(key, ROWS, KEYS)) for key in range(KEYS)}


class Bench:
    """A shuffle on three nodes, whose maps and reducers leave marks."""

    def __init__(self, sc: SparkContext, marks: Marks) -> None:
        self.sc = sc
        self.marks = marks
        self.rdd = self.program()

    def program(self) -> RDD[Any]:
        marks = self.marks

        def make(index: int, numbers: Iterator[int]) -> Iterator[tuple[int, int]]:
            marks.add(f"map {index}")
            return ((x % KEYS, x) for x in numbers)

        def reduce(rows: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
            marks.add("reducer")
            marks.wait("reducers go on")
            found: dict[int, int] = {}
            for key, value in rows:
                found[key] = found.get(key, 0) + value
            return iter(found.items())

        numbers = self.sc.range(ROWS, numSlices=MAPS)
        return numbers.mapPartitionsWithIndex(make).partitionBy(6).mapPartitions(reduce)

    def answer(self) -> dict[int, int]:
        return dict(self.rdd.collect())

    @property
    def outputs(self) -> ShuffleOutputs:
        [outputs] = self.sc._engine.scheduler.outputs._shuffles.values()
        return outputs

    def wait_for_copies(self) -> None:
        """All outputs lie on two nodes, and all nodes are there."""
        wait_until(lambda: len(nodes_of(self.sc)) == NODES + 1, "all nodes")
        wait_for_executors(self.sc)
        wait_until(lambda: len(self.outputs.replicas) == MAPS, "a copy of each output")

    def outputs_on(self, name: str) -> list[int]:
        return [i for i, ref in enumerate(self.outputs.refs) if ref and ref.node == name]

    def kill_node(self, name: str) -> None:
        """Ends all processes of a node at once."""
        node = nodes_of(self.sc)[name]
        links = list(self.sc._engine.cluster.by_id.values())  # type: ignore[attr-defined]
        pids = [each.pid for each in links if each.node == name and each.pid is not None]
        for pid in (*pids, *(node_pid(self.sc, name, part) for part in PARTS)):
            # With the first of them the driver may have ended the others.
            send_signal(pid, signal.SIGKILL)
        wait_until(lambda: nodes_of(self.sc).get(name) is not node, "the node's loss")

    def check_maps_ran_once(self) -> None:
        counts = {name: n for name, n in self.marks.counts().items() if name.startswith("map ")}
        assert counts == {f"map {index}": 1 for index in range(MAPS)}

    def copies(self) -> list[str]:
        """The files of all copies there are."""
        folders = [node.folders.disk for node in list(nodes_of(self.sc).values())]
        return [path for folder in folders for path in glob(os.path.join(folder, "fetched-*"))]


@pytest.fixture
def bench(start: Start, marks: Marks) -> Bench:
    sc = start(
        f"local-cluster[{NODES},1,512m]", pyrite__shuffle__copies="2", pyrite__shuffle__tiny="0"
    )
    wait_for_executors(sc)
    return Bench(sc, marks)


def test_a_node_dies_when_the_maps_are_done(bench: Bench) -> None:
    with ThreadPoolExecutor(1) as user:
        job = user.submit(bench.answer)
        try:
            bench.marks.wait("reducer", NODES)
            bench.wait_for_copies()
            assert bench.outputs_on("node-1")
            bench.kill_node("node-1")
        finally:
            bench.marks.add("reducers go on")
        assert job.result(100) == ANSWER
    bench.check_maps_ran_once()
    agree(bench.sc)


def test_one_node_after_another_dies(bench: Bench) -> None:
    bench.marks.add("reducers go on")
    assert bench.answer() == ANSWER
    for name in ("node-0", "node-1", "node-2"):
        bench.wait_for_copies()
        assert bench.outputs_on(name)
        bench.kill_node(name)
        assert bench.answer() == ANSWER
    # Each output is a copy of a copy by now, or was copied again.
    bench.check_maps_ran_once()
    bench.wait_for_copies()
    agree(bench.sc)
    del bench.rdd
    wait_until(lambda: not bench.copies(), "the end of the copies")


def test_a_storage_node_leaves_while_outputs_have_copies(bench: Bench) -> None:
    bench.marks.add("reducers go on")
    name = bench.sc.addStorageNode("256m")
    assert bench.answer() == ANSWER
    wait_until(lambda: len(bench.outputs.replicas) == MAPS, "a copy of each output")
    bench.sc.removeStorageNode(name)
    wait_until(lambda: name not in nodes_of(bench.sc), "its leave")
    assert bench.answer() == ANSWER
    bench.check_maps_ran_once()
