"""The ledger beside a plain list of facts, whatever happens to nodes, writers and blocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pyrite.blocks.ledger import Drop, Ledger
from pyrite.blocks.names import segment_name
from pyrite.blocks.pool import Segment
from pyrite.ids import BlockRef, ExecutorId, Medium, NodeId, RddId

NODES = [NodeId("a"), NodeId("b"), NodeId("c")]
WRITERS = [ExecutorId(0), ExecutorId(1), ExecutorId(2)]
CAPACITIES = [0, 50, 100, 300]

which = st.integers(0, 1000)
nodes = st.sampled_from(NODES)
writers = st.sampled_from(WRITERS)


@dataclass
class Fact:
    """One segment that exists, and all that keeps it."""

    place: NodeId
    owner: NodeId
    bytes: int
    kept: bool
    written_by: ExecutorId | None
    packs: bool = False
    blocks: list[tuple[BlockRef, RddId | None]] = field(default_factory=list)
    readers: list[str] = field(default_factory=list)
    moves_to: str | None = None
    comes_from: str | None = None
    medium: Medium = "memory"

    @property
    def needed(self) -> bool:
        on_its_way = self.moves_to is not None or self.comes_from is not None
        return bool(self.written_by is not None or self.blocks or self.readers or on_its_way)


class LedgerMachine(RuleBasedStateMachine):
    """Nodes come and go, writers fill segments, blocks live, are read, move and die."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger()
        self.capacities: dict[NodeId, int] = {}
        self.facts: dict[str, Fact] = {}
        self.count = 0

    # What the facts say

    def unused(self, node: NodeId) -> int:
        return self.capacities[node] - self.used(node)

    def in_memory(self) -> list[Fact]:
        return [fact for fact in self.facts.values() if fact.medium == "memory"]

    def used(self, node: NodeId) -> int:
        return sum(fact.bytes for fact in self.in_memory() if fact.place == node)

    def expect(self, drops: list[Drop]) -> None:
        """The ledger has dropped just those that nothing needs."""
        dead = [name for name, fact in self.facts.items() if not fact.needed]
        assert sorted(drops) == sorted((self.facts[name].place, name) for name in dead)
        for name in dead:
            del self.facts[name]

    def one(self, names: list[str], number: int) -> str | None:
        return names[number % len(names)] if names else None

    # Nodes

    @rule(node=nodes, capacity=st.sampled_from(CAPACITIES))
    def join(self, node: NodeId, capacity: int) -> None:
        if node not in self.capacities:
            self.ledger.join(node, capacity)
            self.capacities[node] = capacity

    @rule(node=nodes)
    def lose(self, node: NodeId) -> None:
        drops = self.ledger.lose(node)
        gone = [name for name, fact in self.facts.items() if fact.place == node]
        for name in gone:
            fact = self.facts.pop(name)
            if fact.moves_to in self.facts:
                self.facts[fact.moves_to].comes_from = None
            if fact.comes_from in self.facts:
                self.facts[fact.comes_from].moves_to = None
        self.capacities.pop(node, None)
        self.expect(drops)

    # Writers

    @rule(place=nodes, owner=nodes, writer=writers, kept=st.booleans(), packs=st.booleans())
    def grant(
        self,
        place: NodeId,
        owner: NodeId,
        writer: ExecutorId,
        kept: bool,
        packs: bool,
        size: int = 40,
    ) -> None:
        if place not in self.capacities or self.unused(place) < size:
            return
        self.count += 1
        name = segment_name(writer, self.count)
        self.ledger.grant(writer, Segment(name, place, owner, size, kept=kept), packs)
        if packs:
            self.close_open(writer, kept)
        self.facts[name] = Fact(place, owner, size, kept, writer, packs)

    def close_open(self, writer: ExecutorId, kept: bool) -> None:
        for fact in self.facts.values():
            if fact.written_by == writer and fact.kept == kept:
                fact.packs = False

    @rule(writer=writers)
    def settle(self, writer: ExecutorId) -> None:
        drops = self.ledger.settle(writer)
        for fact in self.facts.values():
            # None stays open on another node.
            stays_open = fact.packs and not (fact.kept and fact.place != fact.owner)
            if fact.written_by == writer and not stays_open:
                fact.written_by, fact.packs = None, False
        self.expect_known(drops)

    @rule(writer=writers)
    def seal(self, writer: ExecutorId) -> None:
        drops = self.ledger.seal(writer)
        for fact in self.facts.values():
            if fact.written_by == writer:
                fact.written_by, fact.packs = None, False
        self.expect_known(drops)

    def expect_known(self, drops: list[Drop]) -> None:
        """A segment may be dropped on a node that was lost with it, and is back."""
        lost = [(node, name) for node, name in drops if name not in self.facts]
        assert all(node in self.capacities for node, _ in lost)
        self.expect([each for each in drops if each not in lost])

    # Blocks

    @rule(number=which, rdd=st.integers(1, 2), length=st.sampled_from([0, 1, 7]))
    def pin(self, number: int, rdd: int, length: int) -> None:
        name = self.one(
            [n for n, each in self.facts.items() if each.written_by is not None], number
        )
        if name is not None:
            fact = self.facts[name]
            ref = BlockRef(fact.place, name, number, length)
            kind = RddId(rdd) if fact.kept else None
            self.ledger.pin(ref, fact.written_by, kind)
            fact.blocks.append((ref, kind))

    @rule(node=nodes, length=st.integers(0, 500))
    def pin_on_disk(self, node: NodeId, length: int) -> None:
        self.count += 1
        ref = BlockRef(node, f"e0-{self.count}", 0, length, "disk")
        self.ledger.pin(ref, WRITERS[0])
        if node in self.capacities:
            self.facts[ref.segment] = Fact(
                node, node, length, False, None, blocks=[(ref, None)], medium="disk"
            )

    @rule(number=which)
    def release(self, number: int) -> None:
        name = self.one([name for name, each in self.facts.items() if each.blocks], number)
        if name is not None:
            ref, rdd = self.facts[name].blocks.pop(number % len(self.facts[name].blocks))
            self.expect(self.ledger.release(ref, rdd))

    @rule(number=which)
    def use(self, number: int) -> None:
        name = self.one([name for name, each in self.facts.items() if each.blocks], number)
        if name is not None:
            ref, _ = self.facts[name].blocks[0]
            self.ledger.use(ref.segment)
            self.facts[name].readers.append(ref.segment)

    @rule(number=which)
    def end_use(self, number: int) -> None:
        name = self.one([name for name, each in self.facts.items() if each.readers], number)
        if name is not None:
            self.expect(self.ledger.end_use(self.facts[name].readers.pop()))

    # Moves

    @rule(number=which, node=nodes, medium=st.sampled_from(["memory", "disk"]))
    def move(self, number: int, node: NodeId, medium: Medium) -> None:
        movable = [name for name, each in self.facts.items() if self.is_movable(name, each)]
        assert movable == [n for n, s in self.ledger.segments.items() if s.movable and s.in_memory]
        name = self.one(movable, number)
        if name is None or node not in self.capacities:
            return
        fact = self.facts[name]
        if medium == "memory" and (self.unused(node) < fact.bytes or node == fact.place):
            return
        move = self.ledger.move(self.ledger.segments[name], node, medium)
        fact.moves_to = move.target.name
        self.facts[move.target.name] = Fact(
            node,
            fact.owner,
            fact.bytes,
            medium == "memory",
            None,
            comes_from=name,
            medium=medium,
        )

    def is_movable(self, name: str, fact: Fact) -> bool:
        on_its_way = fact.moves_to is not None or fact.comes_from is not None
        busy = fact.written_by is not None or fact.readers or on_its_way
        return fact.medium == "memory" and fact.kept and not busy

    @precondition(lambda self: self.ledger.moves)
    @rule(number=which)
    def arrive(self, number: int) -> None:
        move = list(self.ledger.moves.values())[number % len(self.ledger.moves)]
        source, target = self.end_move(move)
        target.blocks = [
            (ref._replace(node=target.place, segment=move.target.name, medium=target.medium), rdd)
            for ref, rdd in source.blocks
        ]
        source.blocks = []
        self.expect(self.ledger.arrive(move))

    @precondition(lambda self: self.ledger.moves)
    @rule(number=which)
    def fail(self, number: int) -> None:
        move = list(self.ledger.moves.values())[number % len(self.ledger.moves)]
        self.end_move(move)
        self.expect(self.ledger.fail(move))

    def end_move(self, move: Any) -> tuple[Fact, Fact]:
        source, target = self.facts[move.source.name], self.facts[move.target.name]
        source.moves_to = target.comes_from = None
        return source, target

    # What must agree

    @invariant()
    def agrees_with_itself(self) -> None:
        self.ledger.check()

    @invariant()
    def agrees_with_the_facts(self) -> None:
        assert {
            name: (each.place, each.owner, each.bytes, each.live, each.readers)
            for name, each in self.ledger.segments.items()
        } == {
            name: (each.place, each.owner, each.bytes, len(each.blocks), len(each.readers))
            for name, each in self.facts.items()
        }

    @invariant()
    def agrees_on_what_r3s_asks_for(self) -> None:
        memory = self.in_memory()
        assert self.ledger.pools.keys() == self.capacities.keys()
        for node, pool in self.ledger.pools.items():
            local = sum(f.bytes for f in memory if f.owner == node and f.place == node)
            remote = sum(f.bytes for f in memory if f.owner == node and f.place != node)
            assert pool.capacity_bytes == self.capacities[node], "M"
            assert pool.unused_bytes == self.unused(node), "U"
            assert pool.own_bytes == local, "L"
            assert pool.borrowed_bytes == remote, "R"
            assert pool.footprint_bytes == local + remote, "Q"
        absent = {f.owner: 0 for f in memory if f.owner not in self.capacities}
        for fact in memory:
            if fact.owner in absent:
                absent[fact.owner] += fact.bytes
        assert self.ledger.absent == absent

    @invariant()
    def agrees_on_the_bytes_of_rdds(self) -> None:
        for name, segment in self.ledger.segments.items():
            counted: dict[RddId, int] = {}
            for ref, rdd in self.facts[name].blocks:
                if rdd is not None:
                    counted[rdd] = counted.get(rdd, 0) + ref.length
            assert {rdd: content.bytes for rdd, content in segment.rdds.items()} == counted

    def teardown(self) -> None:
        """When all is over nothing is left."""
        for move in list(self.ledger.moves.values()):
            self.end_move(move)
            self.expect(self.ledger.fail(move))
        for fact in list(self.facts.values()):
            for name in fact.readers[:]:
                fact.readers.remove(name)
                self.expect(self.ledger.end_use(name))
            for block in fact.blocks[:]:
                fact.blocks.remove(block)
                self.expect(self.ledger.release(*block))
        for writer in WRITERS:
            self.seal(writer)
        assert self.ledger.segments == self.ledger.writers == self.ledger.absent == {}


TestLedgerMachine = LedgerMachine.TestCase
TestLedgerMachine.settings = settings(max_examples=100, stateful_step_count=50)


def test_the_machine_sees_a_ledger_that_forgets_a_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = LedgerMachine()
    machine.join(NODES[0], 100)
    machine.grant(NODES[0], NODES[0], "e0", kept=True, packs=False)
    machine.pin(0, rdd=1, length=7)
    monkeypatch.setattr(Ledger, "use", lambda ledger, ref: None)
    machine.use(0)
    with pytest.raises(AssertionError):
        machine.agrees_with_the_facts()
