"""A block server is told to fetch prefetched segments from others, which may end in the middle."""

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random

import pytest
from nodes import Node
from outputs import lay, random_parts, room_for, unpack, unpack_stretch

from pyrite.blocks.fetched import Stretch
from pyrite.blocks.segments import remove_segments
from pyrite.blocks.stretches import Stretches
from pyrite.ids import Medium
from pyrite.remote.asking import ByteRange
from pyrite.remote.client import BlockClient
from pyrite.remote.controlsocket import Done, Fetched, Moved
from pyrite.remote.fetcher import FetchOrder
from pyrite.remote.mover import MoveOrder

Start = Callable[..., Node]


@pytest.fixture
def start_node(tmp_path: Path, secret: bytes) -> Iterator[Start]:
    started: list[Node] = []

    def start_one(**limits: int) -> Node:
        started.append(Node(tmp_path, len(started), secret, **limits))
        return started[-1]

    yield start_one
    for node in started:
        node.end()


def order(
    id: int, source: Node | None, parts: Iterable[int], blocks: Iterable[ByteRange]
) -> FetchOrder:
    lies = tuple(blocks)
    address = None if source is None else source.server.address
    maps = tuple(range(len(lies)))
    return FetchOrder(id, f"fetched-{id}", "memory", 1 << 22, address, tuple(parts), maps, lies)


def outcomes(heard: Iterable[Done]) -> list[tuple[int, str | None]]:
    """Without the costs."""
    return [(each.id, each.reason) for each in heard]


def test_from_several_nodes_and_the_own_disk(start_node: Start) -> None:
    here, *others = (start_node() for _ in range(3))
    random = Random(1)
    outputs = [[random_parts(random, 5) for _ in range(4)] for _ in range(3)]
    for id, node in enumerate([None, *others]):
        blocks = lay((node or here).folders, "e0-1", outputs[id], "disk")
        here.server.fetch(order(id, node, [1, 4], blocks))
    here.server.fetch(order(3, others[0], [1], [ByteRange("e9-1", 0, 100)]))
    here.server.move(MoveOrder(0, "e9-2", "moved-1", "disk", None))
    heard = here.heard(5)
    moves = [each for each in heard if isinstance(each, Moved)]
    fetches = dict(outcomes(each for each in heard if isinstance(each, Fetched)))
    assert moves == [(0, "segment e9-2 is gone")]
    assert "e9-1 any more" in str(fetches.pop(3))
    assert fetches == {0: None, 1: None, 2: None}
    for id in range(3):
        found = unpack(here.folders, f"fetched-{id}", [1, 4])
        assert found == {map: [parts[1], parts[4]] for map, parts in enumerate(outputs[id])}
    assert here.segments() == ["e0-1", *(f"fetched-{id}" for id in range(3))]


def test_a_prefetched_segment_of_many_outputs(start_node: Start) -> None:
    here, there = start_node(), start_node()
    outputs = [[b"%d" % number, b"", b"x" * (number % 50)] for number in range(5000)]
    here.server.fetch(order(1, there, [0, 2], lay(there.folders, "e0-1", outputs)))
    assert outcomes(here.heard(1)) == [(1, None)]
    found = unpack(here.folders, "fetched-1", [0, 2])
    assert found == {map: [parts[0], parts[2]] for map, parts in enumerate(outputs)}


def test_each_fetches_from_the_other(start_node: Start) -> None:
    nodes = [start_node(), start_node()]
    outputs = [[[bytes([number]) * 100_000] for number in range(10)] for _ in nodes]
    blocks = [lay(node.folders, "e0-1", each) for node, each in zip(nodes, outputs, strict=True)]
    for id in range(5):
        for number, node in enumerate(nodes):
            node.server.fetch(order(id, nodes[1 - number], [0], blocks[1 - number]))
    for number, node in enumerate(nodes):
        assert outcomes(node.heard(5)) == [(id, None) for id in range(5)]
        for id in range(5):
            found = unpack(node.folders, f"fetched-{id}", [0])
            assert list(found.values()) == outputs[1 - number]


def appears(node: Node, target: str) -> None:
    while target not in node.segments():
        assert node.server.receive() == []


@pytest.mark.parametrize("how", ["before it answers", "while it sends"])
def test_the_source_is_killed(start_node: Start, how: str) -> None:
    """All who wait for it are told, and nobody else."""
    here, there, other = start_node(), start_node(send_bytes_per_s=1 << 20), start_node()
    outputs = [[bytes(200_000)]] * 20
    blocks = lay(there.folders, "e0-1", outputs)
    if how == "before it answers":
        there.signal(signal.SIGSTOP)
    for id in range(5):
        here.server.fetch(order(id, there, [0], blocks))
    appears(here, "fetched-0")
    there.server.process.kill()
    here.server.fetch(order(5, other, [0], lay(other.folders, "e0-1", outputs)))
    heard = dict(outcomes(here.heard(6)))
    assert heard.pop(5) is None
    assert sorted(heard) == list(range(5))
    assert all(reason is not None and "is lost" in reason for reason in heard.values())
    assert here.segments() == ["fetched-5"]


@pytest.mark.parametrize("medium", ["memory", "disk"])
def test_the_server_stops_in_the_middle(start_node: Start, medium: Medium) -> None:
    here, there = start_node(), start_node(send_bytes_per_s=1 << 20)
    blocks = lay(there.folders, "e0-1", [[bytes(4 << 20)]], medium)
    for id in range(3):
        here.server.fetch(order(id, there, [0], blocks)._replace(size_bytes=5 << 20))
    appears(here, "fetched-0")
    here.server.stop()
    assert here.server.process.returncode == 0
    assert here.segments() == []


def test_a_prefetched_segment_is_forgotten_in_the_middle(start_node: Start) -> None:
    here, there = start_node(), start_node(send_bytes_per_s=1 << 20)
    blocks = lay(there.folders, "e0-1", [[bytes(100_000)]] * 30)
    here.server.fetch(order(1, there, [0], blocks))
    appears(here, "fetched-1")
    here.server.forget(["fetched-1"])
    assert outcomes(here.heard(1)) == [(1, "segment fetched-1 was dropped while it was made")]
    assert here.segments() == []


def test_forgotten_and_fetched_in_any_order(start_node: Start, client: BlockClient) -> None:
    """Whatever was dropped is gone in the end; what was fetched and not dropped is there."""
    here, there = start_node(), start_node()
    random = Random(5)
    outputs = [random_parts(random, 4) for _ in range(40)]
    own = [
        lay(here.folders, f"e0-{each}", [parts], "disk")[0] for each, parts in enumerate(outputs)
    ]
    far = [lay(there.folders, f"e1-{each}", [parts])[0] for each, parts in enumerate(outputs)]
    orders: dict[int, tuple[FetchOrder, list[int]]] = {}
    dropped = set()

    def drop(node: Node, segments: list[str]) -> None:
        remove_segments(node.folders, segments)
        node.server.forget(segments)
        dropped.update(segments)

    for id in range(300):
        blocks, node = random.choice([(own, None), (far, there)])
        chosen = random.sample(range(40), 3)
        made = order(id, node, [1, 2], [blocks[each] for each in chosen])
        orders[id] = made, chosen
        if random.random() < 0.1:
            drop(here, [made.target])
        here.server.fetch(made)
        if random.random() < 0.4:
            drop(here, [f"fetched-{random.randrange(id + 1)}"])
        if random.random() < 0.02:
            drop(here, [random.choice(own).segment])
            drop(there, [random.choice(far).segment])
    reasons = dict(outcomes(here.heard(300)))
    for _ in range(2):
        client.ping(here.server.address)
    assert sorted(reasons) == list(range(300))
    for id, (made, chosen) in orders.items():
        if made.target in dropped:
            assert made.target not in here.segments()
        elif reasons[id] is None:
            found = unpack(here.folders, made.target, [1, 2])
            assert list(found.values()) == [outputs[each][1:3] for each in chosen]
        else:
            assert any(block.segment in dropped for block in made.blocks), reasons[id]
            assert made.target not in here.segments()
    assert {None} < set(reasons.values())


def test_stretches_are_forgotten_and_fetched_in_any_order(
    start_node: Start, client: BlockClient
) -> None:
    """As above, where many share a file: their node's agent knows of all stretches."""
    here, there = start_node(), start_node()
    random = Random(6)
    outputs = [random_parts(random, 4) for _ in range(40)]
    own = lay(here.folders, "e0-1", outputs, "disk")
    far = lay(there.folders, "e1-1", outputs)
    agent = Stretches(here.folders, knows_all=True)
    last = Stretch("ahead-0", 0, 0)
    orders: dict[int, tuple[FetchOrder, list[int]]] = {}
    dropped = set()

    def drop(segments: list[str]) -> None:
        agent.remove(segments)
        here.server.forget(segments)
        dropped.update(segments)

    for id in range(300):
        blocks, node = random.choice([(own, None), (far, there)])
        chosen = random.sample(range(40), 3)
        size = room_for([outputs[each] for each in chosen], [1, 2])
        file = last.file if random.random() < 0.9 else f"ahead-{id}"
        last = Stretch(file, last.behind() if file == last.file else 0, size)
        made = order(id, node, [1, 2], [blocks[each] for each in chosen])
        made = made._replace(stretch=last, size_bytes=size)
        orders[id] = made, chosen
        agent.add(made.target, last)
        here.server.fetch(made)
        if random.random() < 0.4:
            drop([f"fetched-{random.randrange(id + 1)}"])
    reasons = dict(outcomes(here.heard(300)))
    drop([target for target in (f"fetched-{id}" for id in range(250)) if random.random() < 0.5])
    for _ in range(2):
        client.ping(here.server.address)
    assert sorted(reasons) == list(range(300))
    for id, (made, chosen) in orders.items():
        assert reasons[id] is None or made.target in dropped, reasons[id]
        if made.target not in dropped:
            found = unpack_stretch(here.folders, made, [1, 2])
            assert list(found.values()) == [outputs[each][1:3] for each in chosen]
    left = [made.stretch for made, _ in orders.values() if made.target not in dropped]
    assert {each.file for each in left if each} == {*here.segments()} - {"e0-1"}
    # Each takes a page or a few, whatever lies between them.
    taken = sum(
        os.stat(here.folders.path(file, "memory")).st_blocks * 512
        for file in here.segments()
        if file != "e0-1"
    )
    assert taken <= sum(each.size_bytes + 4096 for each in left if each)


def test_a_server_holds_nothing_of_a_prefetched_segment_that_is_made(start_node: Start) -> None:
    here, there = start_node(), start_node()
    here.server.fetch(order(1, there, [0], lay(there.folders, "e0-1", [[b"one"]])))
    assert outcomes(here.heard(1)) == [(1, None)]
    assert "fetched-1" not in Path(f"/proc/{here.server.process.pid}/maps").read_text()
    folder = f"/proc/{here.server.process.pid}/fd"
    assert not any("fetched" in os.path.realpath(f"{folder}/{fd}") for fd in os.listdir(folder))
