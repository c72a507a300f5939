"""The book of an exchange beside a plain list of facts, whatever its clients do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pyrite.blocks.names import segment_name
from pyrite.exchange.book import (
    NODE,
    PAGE_BYTES,
    ClientId,
    Command,
    Remove,
    SendAnswer,
    ShuffleBook,
)
from pyrite.exchange.outputs import aligned
from pyrite.ids import Medium

# Of few pages: segments become smaller, and there is room for less than one.
CAPACITY_BYTES = 7 * PAGE_BYTES + 1000
SEGMENT_BYTES = 2 * PAGE_BYTES
CLIENTS = [ClientId(1), ClientId(2), ClientId(3)]
READER, OWNER = ClientId(4), ClientId(5)

which = st.integers(0, 1000)
clients = st.sampled_from(CLIENTS)
# Few contents, so that some are put again.
contents = st.sampled_from([(0, 0), (5, 0), (16, 30), (2000, 7), (900, 4000), (9000, 20_000)])


@dataclass
class Written:
    """A block that a client has written and not put yet."""

    segment: str
    offset: int
    content: tuple[int, int]
    medium: Medium = "memory"

    @property
    def ends(self) -> list[int]:
        first, second = self.content
        return [first, aligned(first) + second]


class BookMachine(RuleBasedStateMachine):
    """Clients write, put, find, lose, forget and go; files exist until they are removed."""

    def __init__(self) -> None:
        super().__init__()
        self.book = ShuffleBook(CAPACITY_BYTES, SEGMENT_BYTES)
        self.now_s = 0.0
        self.number = 0
        self.shuffles: dict[int, dict[int, tuple[int, int]]] = {}
        self.files: dict[str, ClientId] = {}
        # The segment that a client writes into, its bytes and those that are used.
        self.open: dict[ClientId, tuple[str, int, int]] = {}
        self.untold: dict[ClientId, Written] = {}
        # Who waits for which map of which shuffle, and until when.
        self.waits: dict[ClientId, tuple[int, int, float]] = {}

    # Messages

    def tell(self, client: ClientId, *message: Any) -> list[Any] | None:
        """The client's answer, or None where it waits; the others' are checked."""
        return self.take(self.book.handle(client, list(message), self.now_s)).get(client)

    def take(self, commands: list[Command]) -> dict[ClientId, list[Any]]:
        answers: dict[ClientId, list[Any]] = {}
        for command in commands:
            match command:
                case SendAnswer(client, message):
                    assert client not in answers, "answered twice"
                    answers[client] = message
                case Remove(segments):
                    for name in segments:
                        del self.files[name]
        return answers

    def ready(self) -> list[ClientId]:
        return [client for client in CLIENTS if client not in self.waits]

    def missing(self, shuffle: int) -> list[int]:
        return [index for index in range(3) if index not in self.shuffles[shuffle]]

    # What clients do

    @rule()
    def register(self) -> None:
        id = self.book.next_shuffle + 1
        answers = self.take(self.book.handle(OWNER, ["register", 3, 2], self.now_s))
        assert answers == {OWNER: ["registered", id]}
        self.shuffles[id] = {}

    @precondition(lambda self: self.ready())
    @rule(one=which, content=contents)
    def write(self, one: int, content: tuple[int, int]) -> None:
        """As the writer does: into the open segment, into another, or to disk."""
        client = self.ready()[one % len(self.ready())]
        block = Written("", 0, content)
        size = block.ends[-1]
        name, length, used = self.open.get(client, ("", 0, 0))
        if used + size > length or not name:
            self.number += 1
            name, used = segment_name(client, self.number), 0
            self.open.pop(client, None)
            unused = self.book.ledger.pools[NODE].unused_bytes
            message = self.tell(client, "lease", self.number, size)
            assert message is not None
            length = message[1]
            assert size <= length <= unused or (length == 0 and size >= unused)
            if not length:
                self.untold[client] = self.spill(client, block)
                return
            self.files[name] = client
        self.open[client] = (name, length, used + aligned(size) + 64)
        self.untold[client] = Written(name, used, content)

    def spill(self, client: ClientId, block: Written) -> Written:
        block.medium, block.segment = "disk", segment_name(client, self.number)
        assert self.tell(client, "spill", self.number) == ["noted"]
        self.files[block.segment] = client
        return block

    def writers(self) -> list[ClientId]:
        """Those who have something to tell of, and don't wait for something else."""
        return [client for client in self.untold if client not in self.waits]

    @precondition(lambda self: self.writers() and self.shuffles)
    @rule(one=which, other=which, map=st.integers(0, 2), replace=st.booleans())
    def put(self, one: int, other: int, map: int, replace: bool) -> None:
        client = self.writers()[one % len(self.writers())]
        shuffle = list(self.shuffles)[other % len(self.shuffles)]
        block = self.untold.pop(client)
        known = self.shuffles[shuffle].get(map)
        waiting = [g for g, w in self.waits.items() if w[:2] == (shuffle, map)]
        place = [block.segment, block.offset, block.ends[-1], block.medium]
        message = ["put", shuffle, map, place, block.ends, list(block.content), replace]
        answers = self.take(self.book.handle(client, message, self.now_s))
        if known is None or replace:
            assert answers.pop(client) == ["put", True]
            self.shuffles[shuffle][map] = block.content
        elif known == block.content:
            assert answers.pop(client) == ["put", False]
        else:
            assert answers.pop(client) == ["refused", "AlreadyPut", shuffle, map]
        assert sorted(answers) == sorted(waiting)
        for each in waiting:
            del self.waits[each]
            self.check_found(answers[each], shuffle, map)

    def check_found(self, message: list[Any], shuffle: int, first: int) -> None:
        kind, refs = message
        assert kind == "found"
        outputs = self.shuffles[shuffle]
        there = [outputs.get(index) for index in range(first, 3)]
        there = there[: there.index(None)] if None in there else there
        # Checksums stand for contents here: each part's is its length.
        assert [(s[2], s[3]) for s in refs] == [(c[1], c[1]) for c in there if c]
        assert all(s[0] in self.files for s in refs), "found what was removed"

    @precondition(lambda self: self.shuffles and self.ready())
    @rule(one=which, other=which, first=st.integers(0, 2), wait_s=st.sampled_from([0, 3, 8]))
    def find(self, one: int, other: int, first: int, wait_s: int) -> None:
        client = self.ready()[one % len(self.ready())]
        shuffle = list(self.shuffles)[other % len(self.shuffles)]
        answer = self.tell(client, "find", shuffle, 1, first, wait_s)
        if first in self.shuffles[shuffle]:
            assert answer is not None
            self.check_found(answer, shuffle, first)
        elif wait_s == 0:
            assert answer == ["refused", "MapsMissing", shuffle, 1, self.missing(shuffle)]
        else:
            assert answer is None
            self.waits[client] = (shuffle, first, self.now_s + wait_s)

    @rule(passed_s=st.integers(1, 5))
    def wait(self, passed_s: int) -> None:
        self.now_s += passed_s
        answers = self.take(self.book.expire(self.now_s))
        over = [client for client, wait in self.waits.items() if wait[2] <= self.now_s]
        assert sorted(answers) == sorted(over)
        for client in over:
            shuffle = self.waits.pop(client)[0]
            expected = ["refused", "MapsMissing", shuffle, 1, self.missing(shuffle)]
            assert answers[client] == expected

    @precondition(lambda self: any(self.shuffles.values()))
    @rule(one=which, stale=st.booleans())
    def lose(self, one: int, stale: bool) -> None:
        there = [(s, m) for s, outputs in self.shuffles.items() for m in outputs]
        shuffle, map = there[one % len(there)]
        segment, offset, *_ = self.book.shuffles[shuffle].outputs[map].part_ref(1)
        place = ("e9-1", 0) if stale else (segment, offset)
        answers = self.take(self.book.handle(READER, ["lost", shuffle, map, 1, *place], self.now_s))
        assert answers == {READER: ["lost", not stale]}
        if not stale:
            del self.shuffles[shuffle][map]

    @precondition(lambda self: self.shuffles)
    @rule(one=which)
    def forget(self, one: int) -> None:
        shuffle = list(self.shuffles)[one % len(self.shuffles)]
        del self.shuffles[shuffle]
        answers = self.take(self.book.handle(OWNER, ["forget", shuffle], self.now_s))
        assert answers.pop(OWNER) == ["forgotten"]
        waiting = [client for client, wait in self.waits.items() if wait[0] == shuffle]
        assert answers == {g: ["refused", "UnknownShuffle", shuffle] for g in waiting}
        for client in waiting:
            del self.waits[client]

    @rule(client=clients)
    def leave(self, client: ClientId) -> None:
        assert self.take(self.book.leave(client)) == {}
        self.open.pop(client, None)
        self.untold.pop(client, None)
        self.waits.pop(client, None)

    # What holds

    @invariant()
    def the_book_agrees_with_itself(self) -> None:
        self.book.check()

    @invariant()
    def what_was_put_is_there(self) -> None:
        for shuffle, outputs in self.shuffles.items():
            page = self.book.shuffles[shuffle]
            assert page.missing() == self.missing(shuffle)
            assert page.sizes == [sum(c[r] for c in outputs.values()) for r in (0, 1)]
            assert all(each.block.segment in self.files for each in page.outputs.values())

    @invariant()
    def the_pool_is_not_exceeded(self) -> None:
        assert 0 <= self.book.ledger.pools[NODE].used_bytes <= CAPACITY_BYTES

    def teardown(self) -> None:
        for client in CLIENTS:
            self.leave(client)
        for _ in list(self.shuffles):
            self.forget(0)
        assert self.files == {}, "left behind"
        self.book.check()


TestBookMachine = pytest.mark.timeout(120)(BookMachine.TestCase)
TestBookMachine.settings = settings(max_examples=60, stateful_step_count=40)
