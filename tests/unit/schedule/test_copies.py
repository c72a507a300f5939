"""Copies of map outputs on other nodes: when they are made, where, and what they stand in for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from conversation import map_stage, of_type, result_stage
from threenodes import MIB, NODES, Nodes

from pyrite.blocks.fetched import directory_bytes, fetched_bytes
from pyrite.ids import BlockRef, ExecutorId, NodeId, ShuffleId
from pyrite.plan.stages import StageSpec
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.outputs import ShuffleOutputs
from pyrite.schedule.replication import MOST_TRIES

SHUFFLE = ShuffleId(0)
STORE = NodeId("storage-0")
MAPS = 6
REDUCERS = 3


class Copied(Nodes):
    """Three nodes where each map output shall lie on two."""

    def __init__(self, stage: StageSpec | None = None, **rules: object) -> None:
        super().__init__(**{"output_copies": 2, "prefetch": False, **rules})
        self.arrived: set[int] = set()
        self.submit(result_stage(1, REDUCERS, stage or map_stage(0, MAPS)))

    @property
    def outputs(self) -> ShuffleOutputs:
        return self.scheduler.outputs._shuffles[SHUFFLE]

    def arrive_all(self) -> None:
        while fresh := [each for each in self.orders() if each.fetch not in self.arrived]:
            self.arrive(*fresh)

    def arrive(self, *orders: do.FetchParts) -> list[do.Command]:
        self.arrived.update(each.fetch for each in orders)
        return super().arrive(*orders)

    def ref(self, index: int) -> BlockRef:
        found = self.outputs.refs[index]
        assert found is not None
        return found

    def is_copy(self, ref: BlockRef) -> bool:
        return self.scheduler.storage.ledger.segments[ref.segment].fetched

    def lose_node(self, number: int) -> list[do.Command]:
        """A node goes, and what ran there."""
        for attempt in [a for a, each in self.running.items() if each.executor == number]:
            del self.running[attempt]
        return self.tell(ev.NodeLost(NODES[number], "gone"))

    def come_back(self, number: int) -> list[do.Command]:
        answer = self.tell(ev.NodeJoined(NODES[number], 1 << 30))
        return answer + self.tell(ev.ExecutorJoined(ExecutorId(number), NODES[number]))

    def not_read(self, index: int) -> list[do.Command]:
        """A reducer says that it can't read an output."""
        attempt = next(a for a, each in self.running.items() if each.stage == 1)
        del self.running[attempt]
        lost = ((index, self.ref(index)),)
        return self.tell(ev.FetchFailed(attempt, SHUFFLE, lost, "spoilt"))

    def all_are_safe(self) -> bool:
        """Whether each output lies on two nodes that are there."""
        places = self.scheduler.storage.ledger.pools
        return all(
            self.ref(index).node in places
            and index in self.outputs.replicas
            and self.outputs.replicas[index].node in places
            for index in range(MAPS)
        )

    def end(self) -> None:
        """All tasks succeed, and nothing is left of the shuffle."""
        while self.running:
            attempt, launch = next(iter(self.running.items()))
            if launch.stage == 0:
                self.make(90, 90, 90, attempt=attempt)
            else:
                self.finish(attempt)
        assert self.ended() == {0: None}
        self.tell(ev.ShuffleForgotten(SHUFFLE))
        self.arrive_all()
        assert not self.scheduler.storage.ledger.segments
        assert not self.scheduler.replication._orders and not self.scheduler.replication._wanted


def copied(**rules: object) -> Copied:
    """All maps are done, and each output has a copy on another node."""
    talk = Copied(**rules)
    while talk.scheduler.stages._runs[1].tasks is None:
        talk.make(90, 90, 90)
        talk.arrive_all()
    return talk


def maps_launched(answer: list[do.Command]) -> list[int]:
    return [each.partitions[0] for each in of_type(answer, do.LaunchTask) if each.stage == 0]


def dropped(answer: list[do.Command]) -> list[tuple[NodeId, str]]:
    drops = of_type(answer, do.DropSegments)
    return [(each.node, name) for each in drops for name in each.segments]


# What is copied, and where to


def test_each_output_is_copied_to_another_node() -> None:
    talk = copied()
    assert sorted(talk.outputs.replicas) == list(range(MAPS))
    for index in range(MAPS):
        ref, copy = talk.ref(index), talk.outputs.replicas[index]
        assert copy.node != ref.node
        # Its header names its parts, too.
        assert copy.length == ref.length + 8 * 3 - 8 + 8


def test_copies_are_spread_over_the_other_nodes() -> None:
    talk = Copied(map_stage(0, 60))
    while talk.scheduler.stages._runs[1].tasks is None:
        talk.make(90, 90, 90)
        talk.arrive_all()
    pairs = [(talk.ref(i).node, copy.node) for i, copy in talk.outputs.replicas.items()]
    counts = {pair: pairs.count(pair) for pair in pairs}
    assert len(counts) == 6 and min(counts.values()) > 3


def test_copies_lie_on_disk_and_take_no_room_from_writers() -> None:
    talk = copied(pool_bytes=10 * MIB)
    assert all(each.medium == "disk" for each in talk.orders())
    for number, node in enumerate(NODES):
        answer = talk.tell(ev.SpaceWanted(node, ExecutorId(number), f"e{number}-100", 10 * MIB))
        [granted] = of_type(answer, do.GrantSpace)
        assert granted.place == node


def test_an_order_has_no_more_bytes_than_may_be_on_their_way() -> None:
    talk = Copied(map_stage(0, 9), fetch_bytes=600)
    # All on one node: the first is on its way while the others appear, of which two go together,
    # and one is too large for any order.
    for size in (90, 90, 90, 90, 900, 90):
        [attempt] = [a for a, each in talk.running.items() if each.executor == 0]
        talk.make(size, size, size, attempt=attempt)
    assert [order.maps for order in talk.orders()] == [(0,)]
    talk.arrive_all()
    counts = [len(order.maps) for order in talk.orders()]
    assert counts == [1, 2, 1, 1, 1]
    assert sorted(talk.outputs.replicas) == sorted(set(range(9)) - set(talk.outputs.missing()))


def test_the_copies_of_an_order_lie_where_they_are_said_to() -> None:
    talk = Copied()
    talk.make(10, 20, 30, attempt=0)
    sizes = {1: (100, 200, 300), 2: (7, 0, 5)}
    for parts in sizes.values():
        [attempt] = [a for a, each in talk.running.items() if each.executor == 0]
        talk.make(*parts, attempt=attempt)
    first, *_ = talk.orders()
    answer = talk.arrive(first)
    [order] = of_type(answer, do.FetchParts)
    assert len(order.maps) == 2
    talk.arrive(order)
    offset = directory_bytes(2)
    for index, ref in zip(order.maps, order.refs, strict=True):
        copy = talk.outputs.replicas[index]
        assert copy == BlockRef(order.node, order.segment, offset, ref.length + 24, "disk")
        offset = -(-(offset + copy.length) // 64) * 64
    assert offset <= order.bytes == fetched_bytes(2, 3, sum(ref.length for ref in order.refs))


def test_without_another_node_there_is_no_copy() -> None:
    talk = Copied()
    talk.lose_node(1)
    talk.lose_node(2)
    talk.make(90, 90, 90)
    assert not talk.orders() and not talk.scheduler.replication._wanted
    # And when there is one again, all get theirs.
    talk.come_back(1)
    [order] = talk.orders()
    assert order.maps == (0,) and order.node == NODES[1]
    talk.end()


# Nodes that run no tasks


def test_no_copy_lies_on_a_node_that_may_be_asked_to_leave() -> None:
    talk = Copied()
    talk.tell(ev.NodeJoined(STORE, 1 << 40, storage_only=True))
    while talk.scheduler.stages._runs[1].tasks is None:
        talk.make(90, 90, 90)
        talk.arrive_all()
    assert talk.all_are_safe()
    assert {each.node for each in talk.orders()} == set(NODES)
    assert talk.tell(ev.NodeLeaves(STORE)) == [do.ReleaseNode(STORE)]
    talk.end()


# Losses


def test_a_lost_node_redoes_no_maps_that_have_copies() -> None:
    talk = copied()
    assert not maps_launched(talk.lose_node(1))
    assert talk.outputs.complete
    talk.end()
    assert len(maps_launched(talk.log)) == MAPS


@pytest.mark.parametrize("first", range(3))
def test_after_a_loss_all_have_copies_again(first: int) -> None:
    talk = copied()
    talk.lose_node(first)
    talk.arrive_all()
    assert talk.all_are_safe()
    talk.come_back(first)
    second, third = (n for n in range(3) if n != first)
    for number in second, third:
        talk.lose_node(number)
        talk.arrive_all()
        assert talk.all_are_safe()
        talk.come_back(number)
    talk.end()
    assert len(maps_launched(talk.log)) == MAPS


def test_of_two_nodes_the_one_that_is_back_gets_the_copies_again() -> None:
    talk = copied()
    talk.lose_node(2)
    talk.arrive_all()
    talk.lose_node(1)
    assert talk.outputs.complete and not talk.outputs.replicas
    talk.come_back(1)
    talk.arrive_all()
    assert talk.all_are_safe()
    talk.lose_node(0)
    assert talk.outputs.complete
    talk.come_back(0)
    talk.end()
    assert len(maps_launched(talk.log)) == MAPS


def test_a_copy_of_a_copy_is_as_long_as_that() -> None:
    talk = copied()
    lengths = [copy.length for _, copy in sorted(talk.outputs.replicas.items())]
    for number in range(3):
        talk.lose_node(number)
        talk.arrive_all()
        talk.come_back(number)
    assert all(talk.is_copy(talk.ref(index)) for index in range(MAPS))
    assert [talk.outputs.replicas[index].length for index in range(MAPS)] == lengths
    assert [talk.ref(index).length for index in range(MAPS)] == lengths
    talk.end()


def test_a_copy_on_its_way_to_a_lost_node_goes_to_another() -> None:
    talk = Copied()
    talk.make(90, 90, 90)
    [order] = talk.orders()
    lost = NODES.index(order.node)
    [again] = of_type(talk.lose_node(lost), do.FetchParts)
    assert again.maps == order.maps and again.node not in (order.node, order.source)
    talk.come_back(lost)
    talk.end()


def test_an_order_that_reaches_a_node_in_its_next_life_leaves_no_file() -> None:
    talk = Copied()
    talk.make(90, 90, 90)
    [order] = talk.orders()
    lost = NODES.index(order.node)
    for attempt in [a for a, each in talk.running.items() if each.executor == lost]:
        del talk.running[attempt]
    # It was not noticed that the node had gone when it is back.
    answer = talk.come_back(lost)
    assert (order.node, order.segment) in dropped(answer)
    talk.arrive(order)
    assert order.segment not in talk.scheduler.storage.ledger.segments
    talk.end()


def test_an_output_that_can_not_be_read_is_replaced_by_its_copy() -> None:
    talk = copied()
    before, copy = talk.ref(2), talk.outputs.replicas[2]
    answer = talk.not_read(2)
    assert talk.ref(2) == copy and talk.outputs.complete and not maps_launched(answer)
    [order] = of_type(answer, do.FetchParts)
    assert order.refs == (copy,) and order.source == copy.node and order.maps == (2,)
    talk.arrive_all()
    assert talk.all_are_safe()
    # The node of the copy goes, too.
    talk.lose_node(NODES.index(copy.node))
    assert talk.outputs.complete and talk.ref(2) not in (before, copy)
    talk.come_back(NODES.index(copy.node))
    talk.end()
    assert len(maps_launched(talk.log)) == MAPS


def test_what_can_not_be_read_twice_is_made_again_whatever_copies_there_are() -> None:
    # All copies are spoilt where the output was before it was copied.
    talk = copied(max_fetch_failures=3)
    talk.not_read(2)
    talk.arrive_all()
    assert 2 in talk.outputs.replicas
    assert maps_launched(talk.not_read(2)) == [2]
    [attempt] = [a for a, each in talk.running.items() if each.stage == 0]
    talk.make(90, 90, 90, attempt=attempt)
    talk.arrive_all()
    assert talk.all_are_safe() and 2 not in talk.outputs.doubted
    talk.end()


def test_copies_go_with_their_shuffle() -> None:
    copied().end()


def test_copies_of_outputs_of_a_barrier_are_lost_with_them() -> None:
    talk = Copied(replace(map_stage(0, 3), barrier=True))
    for _ in range(3):
        talk.make(90, 90, 90)
    first, *others = talk.orders()
    talk.arrive(*others)
    # The one that has no copy is lost, and the others with it.
    lost = first.maps[0]
    gone = set(talk.outputs.replicas.values())
    answer = talk.not_read(lost)
    assert talk.outputs.missing() == [0, 1, 2] and not talk.outputs.replicas
    assert {(ref.node, ref.segment) for ref in gone} <= set(dropped(answer))
    for attempt in [a for a, each in talk.running.items() if each.stage == 1]:
        talk.finish(attempt)
    talk.end()


def test_what_was_lost_while_it_was_copied_has_no_copy() -> None:
    talk = Copied()
    talk.make(90, 90, 90)
    [order] = talk.orders()
    talk.lose_node(NODES.index(order.source))
    talk.arrive(order)
    assert not talk.outputs.replicas
    assert order.segment not in talk.scheduler.storage.ledger.segments
    talk.tell(ev.PartsNotFetched(order.fetch, "said late"))


def fail(talk: Copied, spoilt: frozenset[int]) -> int:
    """Orders that hold one of these outputs fail, and those given then; the others arrive."""
    failures = 0
    while fresh := [each for each in talk.orders() if each.fetch not in talk.arrived]:
        for order in fresh:
            if spoilt.isdisjoint(order.maps):
                talk.arrive(order)
            else:
                failures += 1
                talk.arrived.add(order.fetch)
                talk.tell(ev.PartsNotFetched(order.fetch, "not read"))
    return failures


def test_an_output_that_can_not_be_copied_keeps_no_other_from_it() -> None:
    talk = Copied(map_stage(0, 12))
    while talk.scheduler.stages._runs[1].tasks is None:
        talk.make(90, 90, 90)
    batch = max(talk.scheduler.replication._wanted.values(), key=len)
    assert len(batch) == 3
    spoilt = batch[1]
    assert fail(talk, frozenset({spoilt})) == MOST_TRIES
    assert {*talk.outputs.replicas} == {*range(12)} - {spoilt}


def test_what_could_not_be_copied_to_one_node_goes_to_another() -> None:
    talk = Copied(map_stage(0, 1))
    talk.make(90, 90, 90)
    [first] = talk.orders()
    talk.tell(ev.PartsNotFetched(first.fetch, "no room"))
    second = talk.orders()[-1]
    assert len({first.source, first.node, second.node}) == 3
    talk.arrive(second)
    assert talk.outputs.replicas[0].node == second.node


def test_what_can_not_be_copied_at_all_is_tried_again_when_a_node_comes() -> None:
    talk = copied()
    talk.lose_node(1)
    alone = frozenset(range(MAPS)) - frozenset(talk.outputs.replicas)
    tries = fail(talk, alone)
    assert len(alone) < tries <= MOST_TRIES * len(alone)
    assert talk.outputs.complete and not talk.all_are_safe()
    talk.come_back(1)
    talk.arrive_all()
    assert talk.all_are_safe()


def test_no_output_is_copied_twice_at_once() -> None:
    # One of each node is on its way, and others wait, when more nodes come.
    talk = Copied(fetch_bytes=300)
    while talk.scheduler.stages._runs[1].tasks is None:
        talk.make(90, 90, 90)
    assert len(talk.orders()) == 3
    waiting = {key: list(maps) for key, maps in talk.scheduler.replication._wanted.items()}
    assert sum(map(len, waiting.values())) == 3
    for number in (3, 4):
        assert not talk.tell(ev.NodeJoined(NodeId(f"node-{number}"), 1 << 30))
    assert talk.scheduler.replication._wanted == waiting
    talk.arrive_all()
    assert sorted(index for order in talk.orders() for index in order.maps) == list(range(MAPS))
