"""The checkers of what is fetched ahead bite on stories that can't be."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pyrite.blocks.fetched import fetched_bytes
from pyrite.blocks.parts import pack_header
from pyrite.blocks.segments import SegmentReader
from pyrite.cluster.sim.checkers import Checker, CheckFailed
from pyrite.cluster.sim.checkers.orders import FetchOrders
from pyrite.cluster.sim.checkers.prefetched import PrefetchedReads
from pyrite.cluster.sim.fetches import write_fetched
from pyrite.cluster.sim.store import SimNode
from pyrite.ids import AttemptId, BlockRef, ExecutorId, JobId, NodeId, ShuffleId, StageId
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.outputs import ShuffleOutputs
from pyrite.schedule.rules import Rules
from pyrite.schedule.scheduler import Scheduler
from pyrite.schedule.taskinputs import Prefetched, Snapshot
from pyrite.schedule.timer import SpeculationCheck

HERE, THERE = NodeId("node-0"), NodeId("node-1")
NODES = ev.NodeJoined(HERE, 1000), ev.NodeJoined(THERE, 1000)
SHUFFLE = ShuffleId(5)
TICK = ev.TimerFired(SpeculationCheck())
OUTPUT = pack_header([3, 4]) + b"abcdefg"
REF = BlockRef(THERE, "e1-1", 0, len(OUTPUT), "disk")
ORDER = do.FetchParts(
    1, HERE, "fetched-1", fetched_bytes(1, 1, 60), THERE, (1,), (0,), (REF,), "memory"
)
PREFETCHED = Prefetched(SHUFFLE, ("fetched-1",))
SNAPSHOT = Snapshot(SHUFFLE, 0, (REF,))
LAUNCH = do.LaunchTask(
    AttemptId(0), ExecutorId(0), StageId(1), (1,), 0, JobId(0), (SNAPSHOT,), (), (PREFETCHED,)
)
JOINED = ev.ExecutorJoined(ExecutorId(0), HERE)


def tell(checker: Checker, *commands: do.Command, event: ev.Event = TICK) -> None:
    checker.see(0.0, event, list(commands))


def scheduler(made_alike: bool = True) -> Any:
    outputs = ShuffleOutputs(SHUFFLE, 1, replayable=made_alike)
    outputs.add(0, REF, b"\1")
    found = Scheduler(Rules(fetch_bytes=100))
    found.outputs._shuffles[SHUFFLE] = outputs
    prefetched: Any = SimpleNamespace(shuffle=SHUFFLE)
    found.segments._by_fetch = dict.fromkeys(range(5), prefetched)
    return found


@pytest.fixture
def orders() -> FetchOrders:
    checker = FetchOrders(scheduler())
    for event in NODES:
        tell(checker, event=event)
    return checker


def test_orders_that_can_be(orders: FetchOrders) -> None:
    tell(orders, ORDER)
    tell(orders, event=ev.PartsFetched(1))
    tell(orders, ORDER._replace(fetch=2))


def test_nothing_is_ordered_from_or_for_a_lost_node(orders: FetchOrders) -> None:
    tell(orders, event=ev.NodeLost(THERE, "gone"))
    with pytest.raises(CheckFailed, match="which is lost"):
        tell(orders, ORDER)


def test_nothing_is_ordered_that_is_lost(orders: FetchOrders) -> None:
    lost = ev.FetchFailed(AttemptId(3), SHUFFLE, ((0, REF),), "gone")
    with pytest.raises(CheckFailed, match="known to be lost"):
        tell(orders, ORDER, event=lost)


def test_parts_ascend(orders: FetchOrders) -> None:
    with pytest.raises(CheckFailed, match="out of order"):
        tell(orders, ORDER._replace(parts=(1, 0)))


def test_one_order_for_a_pair_of_nodes(orders: FetchOrders) -> None:
    with pytest.raises(CheckFailed, match="two prefetched segments at once"):
        tell(orders, ORDER, ORDER._replace(fetch=2))


def test_so_many_bytes_at_once(orders: FetchOrders) -> None:
    tell(orders, ORDER)
    with pytest.raises(CheckFailed, match="120 bytes are on their way"):
        tell(orders, ORDER._replace(fetch=2, source=HERE))


class Bench:
    """Two nodes, on one of which a prefetched segment lies."""

    def __init__(self, folder: Path, made_alike: bool = True, order: do.FetchParts = ORDER) -> None:
        nodes = {id: SimNode(id, str(folder / id), 1.0) for id in (HERE, THERE)}
        with open(nodes[THERE].folders.path(REF.segment, REF.medium), "wb") as file:
            file.write(OUTPUT)
        self.path = nodes[HERE].folders.path("fetched-1", "memory")
        self.spoilt: set[str] = set()
        self.reached: Counter[str] = Counter()
        cluster: Any = SimpleNamespace(
            by_name=nodes, faults=SimpleNamespace(spoilt=self.spoilt), reached=self.reached
        )
        self.checker = PrefetchedReads(scheduler(made_alike), cluster)
        tell(self.checker, event=JOINED)
        tell(self.checker, order)
        write_fetched(order, SegmentReader(nodes[THERE].folders), self.path)


def test_a_prefetched_segment_that_is_there(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    tell(bench.checker, LAUNCH)
    assert bench.reached == {"task with prefetched input": 1}


def test_a_prefetched_segment_that_is_not_there(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    os.unlink(bench.path)
    with pytest.raises(CheckFailed, match="no file"):
        tell(bench.checker, LAUNCH)
    bench.spoilt.add("fetched-1")
    tell(bench.checker, LAUNCH)
    assert bench.reached["task with a spoilt prefetched segment"] == 1


def test_a_prefetched_segment_of_another_node(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    tell(bench.checker, event=ev.ExecutorJoined(ExecutorId(1), THERE))
    with pytest.raises(CheckFailed, match="not for node-1"):
        tell(bench.checker, LAUNCH._replace(executor=ExecutorId(1)))


def test_a_prefetched_segment_with_other_rows(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    path = Path(bench.path)
    path.write_bytes(path.read_bytes().replace(b"defg", b"xxxx"))
    with pytest.raises(CheckFailed, match="other rows"):
        tell(bench.checker, LAUNCH)


@pytest.mark.parametrize("made_alike", [True, False])
def test_a_prefetched_segment_of_what_was_dealt_out_anew(tmp_path: Path, made_alike: bool) -> None:
    bench = Bench(tmp_path, made_alike)
    again = SNAPSHOT._replace(refs=(REF._replace(segment="e1-2"),))
    if made_alike:
        tell(bench.checker, LAUNCH._replace(inputs=(again,)))
    else:
        with pytest.raises(CheckFailed, match="as it is no more"):
            tell(bench.checker, LAUNCH._replace(inputs=(again,)))


def test_a_prefetched_segment_stays_for_its_reader(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    tell(bench.checker, LAUNCH)
    drop = do.DropSegments(HERE, ("fetched-1",))
    with pytest.raises(CheckFailed, match="while attempt 0 reads them"):
        tell(bench.checker, drop)
    tell(bench.checker, drop, event=ev.TaskSucceeded(AttemptId(0), (ev.TaskOutput(),)))
