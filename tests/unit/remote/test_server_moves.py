"""A block server is told to move segments, by a parent that never waits for it."""

import select
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import get_args

import pytest
from nodes import Node
from peers import PATIENCE_S

from pyrite.blocks.segments import remove_segments
from pyrite.ids import Medium
from pyrite.remote import controlsocket
from pyrite.remote.client import BlockClient
from pyrite.remote.mover import MoveOrder

LARGE = 64 << 20


@pytest.fixture
def nodes(tmp_path: Path, secret: bytes) -> Iterator[list[Node]]:
    made = [Node(tmp_path, number, secret) for number in range(2)]
    yield made
    for node in made:
        node.end()


def test_to_memory_and_disks(nodes: list[Node]) -> None:
    here, there = nodes
    data = here.fill("e0-1", 3 << 20)
    here.server.move(MoveOrder(1, "e0-1", "moved-1", "memory", there.server.address))
    here.server.move(MoveOrder(2, "e0-1", "moved-2", "disk", there.server.address))
    here.server.move(MoveOrder(3, "e0-1", "moved-3", "disk", None))
    here.server.move(MoveOrder(4, "e0-9", "moved-4", "disk", None))
    said = sorted(here.heard(4))
    assert said == [(1, None), (2, None), (3, None), (4, "segment e0-9 is gone")]
    assert (
        there.bytes_of("moved-1")
        == there.bytes_of("moved-2", "disk")
        == here.bytes_of("moved-3", "disk")
        == data
    )
    assert there.segments() == ["moved-1", "moved-2"]
    assert here.segments() == ["e0-1", "moved-3"]


def test_nothing_to_hear(nodes: list[Node]) -> None:
    assert nodes[0].server.receive() == []
    assert not nodes[0].server.closed


def test_both_ways_at_once(nodes: list[Node]) -> None:
    data = [node.fill("e0-1", 8 << 20) for node in nodes]
    for id in range(5):
        for node, other in zip(nodes, reversed(nodes), strict=True):
            node.server.move(MoveOrder(id, "e0-1", f"moved-{id}", "memory", other.server.address))
    for node, other, whole in zip(nodes, reversed(nodes), data, strict=True):
        assert node.heard(5) == [(id, None) for id in range(5)]
        assert all(other.bytes_of(f"moved-{id}") == whole for id in range(5))


def test_readers_are_served_while_segments_move(nodes: list[Node], client: BlockClient) -> None:
    here, there = nodes
    data = here.fill("e0-1", LARGE)
    here.server.move(MoveOrder(1, "e0-1", "moved-1", "memory", there.server.address))
    found: list[tuple[int, str | None]] = []
    while not found:
        assert client.read(here.server.address, "e0-1", 5, 1000) == data[5:1005]
        found = here.server.receive()
    assert found == [(1, None)]


def test_the_source_s_memory_is_free_after_a_move(nodes: list[Node]) -> None:
    here, there = nodes
    here.fill("e0-1", 1 << 20)
    there.fill("moved-2", 1)
    for id in 1, 2:
        here.server.move(MoveOrder(id, "e0-1", f"moved-{id}", "memory", there.server.address))
    assert [reason is None for _, reason in here.heard(2)] == [True, False]
    # Answered when the thread has taken up the next order.
    here.server.move(MoveOrder(3, "e0-9", "moved-3", "disk", None))
    here.heard(1)
    assert "e0-1" not in Path(f"/proc/{here.server.process.pid}/maps").read_text()


def test_forgotten_and_moved_in_any_order(nodes: list[Node], client: BlockClient) -> None:
    """Whatever was dropped is gone in the end, and whatever was moved and not dropped is there."""
    here, there = nodes
    random, sources = Random(5), {}
    for number in range(40):
        sources[f"e0-{number}"] = here.fill(f"e0-{number}", random.choice([0, 100, 300_000]))
    orders, dropped = {}, set()

    def drop(segments: Iterable[str]) -> None:
        for node in nodes:
            remove_segments(node.folders, segments)
            node.server.forget(segments)
        dropped.update(segments)

    for id in range(300):
        address = random.choice([None, there.server.address])
        target, medium = f"moved-{id}", random.choice(get_args(Medium))
        orders[id] = MoveOrder(id, random.choice(list(sources)), target, medium, address)
        if random.random() < 0.1:
            drop([target])
        here.server.move(orders[id])
        if random.random() < 0.5:
            drop([orders[random.randrange(id + 1)].target])
        if random.random() < 0.05:
            drop([random.choice(list(sources))])
    reasons = dict(here.heard(300))
    for node in nodes:
        for _ in range(2):
            client.ping(node.server.address)
    assert sorted(reasons) == list(range(300))
    for id, order in orders.items():
        place, other = (here, there) if order.address is None else (there, here)
        assert order.target not in other.segments()
        if order.target in dropped:
            assert order.target not in place.segments()
        elif reasons[id] is None:
            assert place.bytes_of(order.target, order.medium) == sources[order.segment]
        else:
            assert reasons[id] == f"segment {order.segment} is gone"
            assert order.target not in place.segments()
    assert {None} < set(reasons.values())


def test_a_parent_does_not_wait_for_a_server_that_does_not_read(nodes: list[Node]) -> None:
    here, there = nodes
    data = here.fill("e0-1", 1000)
    here.signal(signal.SIGSTOP)
    here.server.forget(f"e1-{number}" for number in range(100_000))
    for id in range(300):
        here.server.move(MoveOrder(id, "e0-1", f"moved-{id}", "memory", there.server.address))
    assert here.server.control.outbox
    assert here.server.receive() == []
    here.signal(signal.SIGCONT)
    assert here.heard(300) == [(id, None) for id in range(300)]
    assert not here.server.control.outbox
    assert all(there.bytes_of(f"moved-{id}") == data for id in range(300))
    # What was waited for is no news any more.
    assert not select.select([here.server.poll], [], [], 0)[0]


def test_a_server_does_not_wait_for_a_parent_that_does_not_hear(
    nodes: list[Node], client: BlockClient
) -> None:
    here = nodes[0]
    data = here.fill("e0-1", 1000)
    for id in range(20_000):
        here.server.move(MoveOrder(id, "e0-2", "moved-1", "disk", None))
    here.server.move(MoveOrder(20_000, "e0-1", "moved-2", "disk", None))
    while "moved-2" not in here.segments():
        here.server.control.outbox.flush()
        assert client.read(here.server.address, "e0-1", 0, 1000) == data
    assert [id for id, _ in here.heard(20_001)] == list(range(20_001))


def test_a_server_that_never_reads_is_given_up(
    nodes: list[Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(controlsocket, "MOST_UNSENT_BYTES", 1 << 20)
    here = nodes[0]
    here.signal(signal.SIGSTOP)
    for number in range(100_000):
        here.server.forget([f"e1-{number}"])
    assert here.heard(1) == [] and here.server.closed
    here.signal(signal.SIGCONT)
    assert here.server.process.wait(PATIENCE_S) == 0


def test_a_server_s_death_is_heard(nodes: list[Node]) -> None:
    here = nodes[0]
    here.server.move(MoveOrder(1, "e0-1", "moved-1", "disk", None))
    assert len(here.heard(1)) == 1 and not here.server.closed
    here.server.process.kill()
    here.server.process.wait()
    # Said to nobody, which is no error: the death is heard where all else is.
    here.server.forget(["e0-1"])
    here.server.move(MoveOrder(2, "e0-1", "moved-1", "disk", None))
    assert here.heard(1) == []
    assert here.server.closed


def test_a_death_before_all_was_read_is_heard(nodes: list[Node]) -> None:
    here = nodes[0]
    here.signal(signal.SIGSTOP)
    here.server.forget(["e0-1"])
    here.server.process.kill()
    assert here.heard(1) == []
    assert here.server.closed


def caught_in_the_middle(nodes: list[Node], medium: Medium) -> str:
    """The target of a move that is half done, its server stopped there."""
    here, there = nodes
    here.fill("e0-1", LARGE)
    for id in range(100):
        target = f"moved-{id}"
        path = Path(there.folders.path(target, medium))
        here.server.move(MoveOrder(id, "e0-1", target, medium, there.server.address))
        said: list[tuple[int, str | None]] = []
        while not path.exists():
            said += here.server.receive()
            assert said in ([], [(id, None)])
        there.signal(signal.SIGSTOP)
        # What is on its way arrives even when its source is dead, so that much has to be left.
        if path.stat().st_blocks * 512 < LARGE // 2:
            return target
        there.signal(signal.SIGCONT)
        assert said or here.heard(1) == [(id, None)]
        path.unlink()
    raise AssertionError("no move lasted long enough to be caught")


@pytest.mark.parametrize("medium", ["memory", "disk"])
def test_the_target_is_killed_in_the_middle(nodes: list[Node], medium: Medium) -> None:
    here, there = nodes
    caught_in_the_middle(nodes, medium)
    there.server.process.kill()
    ((_, reason),) = here.heard(1)
    assert reason is not None and "is lost" in reason
    here.server.move(MoveOrder(1000, "e0-1", "moved-1000", "disk", None))
    assert here.heard(1) == [(1000, None)]


@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_the_source_ends_in_the_middle(nodes: list[Node], client: BlockClient, how: str) -> None:
    here, there = nodes
    target = caught_in_the_middle(nodes, "memory")
    if how == "killed":
        here.server.process.kill()
    here.server.stop()
    assert here.server.process.returncode == (-signal.SIGKILL if how == "killed" else 0)
    there.signal(signal.SIGCONT)
    while target in there.segments():
        client.ping(there.server.address)
    assert there.segments() == []


def test_the_target_is_forgotten_in_the_middle(nodes: list[Node], client: BlockClient) -> None:
    here, there = nodes
    target = caught_in_the_middle(nodes, "memory")
    remove_segments(there.folders, [target])
    there.server.forget([target])
    there.signal(signal.SIGCONT)
    ((_, reason),) = here.heard(1)
    assert reason is not None and "any more" in reason
    assert there.segments() == []
