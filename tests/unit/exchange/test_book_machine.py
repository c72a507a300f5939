"""The book of an exchange beside a plain list of facts, whatever its guests do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pyrite.blocks.names import segment_name
from pyrite.exchange.book import NODE, PAGE_BYTES, Command, GuestId, Remove, SendAnswer, ShuffleBook
from pyrite.exchange.outputs import aligned
from pyrite.ids import Medium

# Of few pages: segments become smaller, and there is room for less than one.
CAPACITY_BYTES = 7 * PAGE_BYTES + 1000
SEGMENT_BYTES = 2 * PAGE_BYTES
GUESTS = [GuestId(1), GuestId(2), GuestId(3)]
READER, OWNER = GuestId(4), GuestId(5)

which = st.integers(0, 1000)
guests = st.sampled_from(GUESTS)
# Few contents, so that some are put again.
contents = st.sampled_from([(0, 0), (5, 0), (16, 30), (2000, 7), (900, 4000), (9000, 20_000)])


@dataclass
class Written:
    """A block that a guest has written and not told of."""

    segment: str
    offset: int
    content: tuple[int, int]
    medium: Medium = "memory"

    @property
    def ends(self) -> list[int]:
        first, second = self.content
        return [first, aligned(first) + second]


class BookMachine(RuleBasedStateMachine):
    """Guests write, put, find, lose, forget and go; files exist until they are removed."""

    def __init__(self) -> None:
        super().__init__()
        self.book = ShuffleBook(CAPACITY_BYTES, SEGMENT_BYTES)
        self.now_s = 0.0
        self.number = 0
        self.shuffles: dict[int, dict[int, tuple[int, int]]] = {}
        self.files: dict[str, GuestId] = {}
        # The segment that a guest writes into, its bytes and those that are used.
        self.open: dict[GuestId, tuple[str, int, int]] = {}
        self.untold: dict[GuestId, Written] = {}
        # Who waits for which map of which shuffle, and until when.
        self.waits: dict[GuestId, tuple[int, int, float]] = {}

    # Words

    def tell(self, guest: GuestId, *words: Any) -> list[Any] | None:
        """The guest's answer, or None where it waits; the others' are checked."""
        return self.take(self.book.handle(guest, list(words), self.now_s)).get(guest)

    def take(self, commands: list[Command]) -> dict[GuestId, list[Any]]:
        answers: dict[GuestId, list[Any]] = {}
        for command in commands:
            match command:
                case SendAnswer(guest, words):
                    assert guest not in answers, "answered twice"
                    answers[guest] = words
                case Remove(segments):
                    for name in segments:
                        del self.files[name]
        return answers

    def ready(self) -> list[GuestId]:
        return [guest for guest in GUESTS if guest not in self.waits]

    def missing(self, shuffle: int) -> list[int]:
        return [index for index in range(3) if index not in self.shuffles[shuffle]]

    # What guests do

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
        guest = self.ready()[one % len(self.ready())]
        block = Written("", 0, content)
        size = block.ends[-1]
        name, length, used = self.open.get(guest, ("", 0, 0))
        if used + size > length or not name:
            self.number += 1
            name, used = segment_name(guest, self.number), 0
            self.open.pop(guest, None)
            unused = self.book.ledger.pools[NODE].unused_bytes
            words = self.tell(guest, "lease", self.number, size)
            assert words is not None
            length = words[1]
            assert size <= length <= unused or (length == 0 and size >= unused)
            if not length:
                self.untold[guest] = self.spill(guest, block)
                return
            self.files[name] = guest
        self.open[guest] = (name, length, used + aligned(size) + 64)
        self.untold[guest] = Written(name, used, content)

    def spill(self, guest: GuestId, block: Written) -> Written:
        block.medium, block.segment = "disk", segment_name(guest, self.number)
        assert self.tell(guest, "spill", self.number) == ["noted"]
        self.files[block.segment] = guest
        return block

    def writers(self) -> list[GuestId]:
        """Those who have something to tell of, and don't wait for something else."""
        return [guest for guest in self.untold if guest not in self.waits]

    @precondition(lambda self: self.writers() and self.shuffles)
    @rule(one=which, other=which, map=st.integers(0, 2), replace=st.booleans())
    def put(self, one: int, other: int, map: int, replace: bool) -> None:
        guest = self.writers()[one % len(self.writers())]
        shuffle = list(self.shuffles)[other % len(self.shuffles)]
        block = self.untold.pop(guest)
        known = self.shuffles[shuffle].get(map)
        waiting = [g for g, w in self.waits.items() if w[:2] == (shuffle, map)]
        place = [block.segment, block.offset, block.ends[-1], block.medium]
        words = ["put", shuffle, map, place, block.ends, list(block.content), replace]
        answers = self.take(self.book.handle(guest, words, self.now_s))
        if known is None or replace:
            assert answers.pop(guest) == ["put", True]
            self.shuffles[shuffle][map] = block.content
        elif known == block.content:
            assert answers.pop(guest) == ["put", False]
        else:
            assert answers.pop(guest) == ["refused", "AlreadyPut", shuffle, map]
        assert sorted(answers) == sorted(waiting)
        for each in waiting:
            del self.waits[each]
            self.check_found(answers[each], shuffle, map)

    def check_found(self, words: list[Any], shuffle: int, first: int) -> None:
        kind, stretches = words
        assert kind == "found"
        outputs = self.shuffles[shuffle]
        there = [outputs.get(index) for index in range(first, 3)]
        there = there[: there.index(None)] if None in there else there
        # Checksums stand for contents here: each part's is its length.
        assert [(s[2], s[3]) for s in stretches] == [(c[1], c[1]) for c in there if c]
        assert all(s[0] in self.files for s in stretches), "found what was removed"

    @precondition(lambda self: self.shuffles and self.ready())
    @rule(one=which, other=which, first=st.integers(0, 2), wait_s=st.sampled_from([0, 3, 8]))
    def find(self, one: int, other: int, first: int, wait_s: int) -> None:
        guest = self.ready()[one % len(self.ready())]
        shuffle = list(self.shuffles)[other % len(self.shuffles)]
        answer = self.tell(guest, "find", shuffle, 1, first, wait_s)
        if first in self.shuffles[shuffle]:
            assert answer is not None
            self.check_found(answer, shuffle, first)
        elif wait_s == 0:
            assert answer == ["refused", "MapsMissing", shuffle, 1, self.missing(shuffle)]
        else:
            assert answer is None
            self.waits[guest] = (shuffle, first, self.now_s + wait_s)

    @rule(passed_s=st.integers(1, 5))
    def wait(self, passed_s: int) -> None:
        self.now_s += passed_s
        answers = self.take(self.book.expire(self.now_s))
        over = [guest for guest, wait in self.waits.items() if wait[2] <= self.now_s]
        assert sorted(answers) == sorted(over)
        for guest in over:
            shuffle = self.waits.pop(guest)[0]
            expected = ["refused", "MapsMissing", shuffle, 1, self.missing(shuffle)]
            assert answers[guest] == expected

    @precondition(lambda self: any(self.shuffles.values()))
    @rule(one=which, stale=st.booleans())
    def lose(self, one: int, stale: bool) -> None:
        there = [(s, m) for s, outputs in self.shuffles.items() for m in outputs]
        shuffle, map = there[one % len(there)]
        segment, offset, *_ = self.book.shuffles[shuffle].outputs[map].stretch(1)
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
        waiting = [guest for guest, wait in self.waits.items() if wait[0] == shuffle]
        assert answers == {g: ["refused", "UnknownShuffle", shuffle] for g in waiting}
        for guest in waiting:
            del self.waits[guest]

    @rule(guest=guests)
    def leave(self, guest: GuestId) -> None:
        assert self.take(self.book.leave(guest)) == {}
        self.open.pop(guest, None)
        self.untold.pop(guest, None)
        self.waits.pop(guest, None)

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
        for guest in GUESTS:
            self.leave(guest)
        for _ in list(self.shuffles):
            self.forget(0)
        assert self.files == {}, "left behind"
        self.book.check()


TestBookMachine = pytest.mark.timeout(120)(BookMachine.TestCase)
TestBookMachine.settings = settings(max_examples=60, stateful_step_count=40)
