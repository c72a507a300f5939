"""A local cluster of real block servers, without executors, is told to fetch parts of outputs."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil
import pytest
from idle import wait_until

from pyrite import SparkConf
from pyrite.blocks.fetched import fetched_bytes, unpack_directory
from pyrite.blocks.parts import find_part, pack_header
from pyrite.cluster.local.agentprocess import AgentProcess, LocalStarter, NodeShape
from pyrite.cluster.local.start import start_many_nodes
from pyrite.cluster.node.options import AgentOptions
from pyrite.cluster.real.cluster import RealCluster
from pyrite.cluster.real.setup import RealSetup
from pyrite.driver.start.master import parse_master
from pyrite.driver.start.start import executor_limits, read_rules
from pyrite.ids import BlockRef, Medium, NodeId
from pyrite.remote.process import ServerProcess
from pyrite.remote.protocol import is_segment
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.settings import Settings

LIMITS = executor_limits(Settings(SparkConf(loadDefaults=False)))
HERE, THERE = NodeId("storage-0"), NodeId("storage-1")
OUTPUTS = [[b"one", b"", b"three"], [b"four", b"five", bytes(100_000)]]


class NoStages:
    """Nobody runs anything here."""

    def closure(self, stage: object) -> bytes:
        raise AssertionError(stage)

    def header(self, stage: object, job: object) -> bytes:
        raise AssertionError(stage)


Start = Callable[..., RealCluster]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[RealCluster] = []

    def start_one(send_bytes_per_s: int = 0) -> RealCluster:
        setup = RealSetup(1 << 24, str(tmp_path), LIMITS.network_timeout_s, send_bytes_per_s)
        cluster = start_many_nodes(
            NoStages(), setup, NodeShape(1, 1 << 24), 0, [1 << 24] * 2, LIMITS, {}
        )
        started.append(cluster)
        for _ in range(3):
            assert isinstance(cluster.wait_event(), ev.NodeJoined)
        return cluster

    yield start_one
    for cluster in started:
        cluster.refuse()
        cluster.release()


def lay(
    cluster: RealCluster, node: NodeId, segment: str, medium: Medium = "memory"
) -> tuple[BlockRef, ...]:
    refs, data = [], b""
    for parts in OUTPUTS:
        block = pack_header([len(part) for part in parts]) + b"".join(parts)
        refs.append(BlockRef(node, segment, len(data), len(block), medium))
        data += block
    Path(cluster.nodes[node].folders.path(segment, medium)).write_bytes(data)
    return tuple(refs)


def fetch(
    number: int, source: NodeId, refs: Sequence[BlockRef], parts: tuple[int, ...] = (0, 2)
) -> do.FetchParts:
    frames = sum(len(output[part]) for output in OUTPUTS for part in parts)
    size = fetched_bytes(len(refs), len(parts), frames)
    maps = tuple(range(4, 4 + len(refs)))
    return do.FetchParts(
        number, HERE, f"fetched-{number}", size, source, parts, maps, tuple(refs), "memory"
    )


def in_memory(cluster: RealCluster) -> list[str]:
    names = os.listdir(cluster.nodes[HERE].folders.memory)
    return sorted(name for name in names if is_segment(name.encode()))


@pytest.mark.parametrize("source", [HERE, THERE])
@pytest.mark.parametrize("medium", ["memory", "disk"])
def test_parts_become_a_prefetched_segment(start: Start, source: NodeId, medium: Medium) -> None:
    cluster = start()
    refs = lay(cluster, source, "e0-1", medium)
    cluster.perform(fetch(7, source, refs))
    told = cluster.wait_event()
    assert isinstance(told, ev.PartsFetched) and told.fetch == 7
    # What lies on the own node is copied, which tells nothing of the network.
    assert source != HERE or (told.link_s, told.taken_s) == (0.0, 0.0)
    fetched = memoryview(Path(cluster.nodes[HERE].folders.path("fetched-7", "memory")).read_bytes())
    found = {}
    for entry in unpack_directory(fetched):
        selection = fetched[entry.offset : entry.offset + entry.length]
        found[entry.map] = [find_part(selection, part) for part in (0, 2)]
    assert found == {4: [b"one", b"three"], 5: [b"four", bytes(100_000)]}
    cluster.perform(do.DropSegments(HERE, ("fetched-7",)))
    wait_until(lambda: "fetched-7" not in in_memory(cluster), "its removal")


def test_moves_and_fetches_are_told_apart(start: Start) -> None:
    cluster = start()
    refs = lay(cluster, THERE, "e0-1")
    cluster.perform(fetch(1, THERE, refs))
    told = cluster.wait_event()
    assert isinstance(told, ev.PartsFetched) and told.fetch == 1
    cluster.perform(do.MoveSegment(1, HERE, "e9-1", HERE, "moved-1", 100, "disk"))
    assert cluster.wait_event() == ev.SegmentNotMoved(1, "segment e9-1 is gone")


def test_outputs_that_are_gone(start: Start) -> None:
    cluster = start()
    (first, _) = lay(cluster, THERE, "e0-1")
    cluster.perform(fetch(1, THERE, [first, BlockRef(THERE, "e0-2", 0, 100)], (0,)))
    event = cluster.wait_event()
    assert isinstance(event, ev.PartsNotFetched) and event.fetch == 1
    assert "e0-2 any more" in event.reason
    assert in_memory(cluster) == []


@pytest.mark.parametrize("gone", [HERE, THERE])
def test_a_node_that_has_gone(start: Start, gone: NodeId) -> None:
    cluster = start()
    refs = lay(cluster, THERE, "e0-1")
    cluster.perform(do.ReleaseNode(gone))
    assert isinstance(cluster.wait_event(), ev.NodeLost)
    cluster.perform(fetch(1, THERE, refs))
    assert cluster.wait_event() == ev.PartsNotFetched(1, "its node has gone")


def test_a_source_that_dies_before_anybody_knows(start: Start) -> None:
    cluster = start()
    refs = lay(cluster, THERE, "e0-1")
    hello = cluster.nodes[THERE].hello
    assert hello is not None
    os.kill(hello.server_pid, signal.SIGKILL)
    wait_until(lambda: not psutil.pid_exists(hello.server_pid), "its end")
    cluster.perform(fetch(1, THERE, refs))
    heard = [cluster.wait_event() for _ in range(3)]
    (event,) = [event for event in heard if isinstance(event, ev.PartsNotFetched)]
    assert event.fetch == 1 and "is lost" in event.reason
    assert {type(event) for event in heard} == {ev.PartsNotFetched, ev.NodeLost, ev.NodeJoined}
    # It has come back, with nothing.
    cluster.perform(fetch(2, THERE, refs))
    event = cluster.wait_event()
    assert isinstance(event, ev.PartsNotFetched) and "any more" in event.reason
    assert in_memory(cluster) == []


def test_how_fast_servers_may_send(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    rates, whole = [], ServerProcess.open

    def note(server, address, limits):  # type: ignore[no-untyped-def]
        rates.append(limits.send_bytes_per_s)
        whole(server, address, limits)

    began = LocalStarter.start

    def note_agent(starter: LocalStarter, options: AgentOptions) -> AgentProcess:
        rates.append(options.send_bytes_per_s)
        return began(starter, options)

    # The driver starts its own block server, and agents start theirs.
    monkeypatch.setattr(ServerProcess, "open", note)
    monkeypatch.setattr(LocalStarter, "start", note_agent)
    start(send_bytes_per_s=5 << 20)
    assert rates == [5 << 20] * 3


def test_the_rules_of_fetching_ahead() -> None:
    conf = SparkConf(loadDefaults=False)
    rules = read_rules(parse_master("local-cluster[2,1,512m]"), Settings(conf))
    assert (rules.prefetch, rules.observed_share, rules.fetch_bytes) == (True, 0.05, 48 << 20)
    conf.set("pyrite.shuffle.prefetch", "false").set("pyrite.shuffle.observe", "0.2")
    conf.set("pyrite.shuffle.inFlight", "1m")
    rules = read_rules(parse_master("local-cluster[2,1,512m]"), Settings(conf))
    assert (rules.prefetch, rules.observed_share, rules.fetch_bytes) == (False, 0.2, 1 << 20)
