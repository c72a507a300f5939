"""The book of an exchange: which maps of which shuffle lie where, and who waits for them. Pure.

It is told what a guest (one connection of a client) says, and answers with commands. Words are
lists of plain values, as they travel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pyrite.blocks.ledger import Drop, Ledger
from pyrite.blocks.names import segment_name
from pyrite.blocks.pool import Segment
from pyrite.exchange.outputs import PutOutput, are_ends
from pyrite.ids import BlockRef, ExecutorId, NodeId

NODE = NodeId("exchange")
# To the ledger a guest is what an executor is to a scheduler's: who writes segments.
GuestId = ExecutorId
# Answers have a limit: a reducer of more maps asks again.
STRETCHES_AN_ANSWER = 1024
# What a shuffle may have of each; the words of one with more would be too long.
MOST_PARTS = 100_000
# A segment is at most one of so many shares of what is left, or as many as there are writers.
SHARES = 8
# Less than a page is no less memory.
PAGE_BYTES = 4096
# Sums with larger numbers would be none.
LONGEST_WAIT_S = 1e9


class SendAnswer(NamedTuple):
    """Words for a guest that has asked."""

    guest: GuestId
    words: list[Any]


class Remove(NamedTuple):
    """Segments that nobody needs."""

    segments: list[str]


Command = SendAnswer | Remove


class BadRequest(ValueError):
    """Words that no client of ours says: whoever said them is to be sent away."""


class RequestRefused(Exception):
    """A request that can't be met: an error's name and the facts that it is made of."""

    def __init__(self, error: str, *facts: Any) -> None:
        super().__init__(error, *facts)

    @property
    def words(self) -> list[Any]:
        return ["refused", *self.args]


@dataclass(slots=True)
class Wait:
    """A guest that waits for a map."""

    shuffle: int
    reducer: int
    first: int
    until_s: float | None


@dataclass(slots=True)
class ShufflePage:
    """One shuffle: its outputs, and who waits for which map."""

    id: int
    maps: int
    reducers: int
    outputs: dict[int, PutOutput] = field(default_factory=dict)
    awaited: dict[int, list[GuestId]] = field(default_factory=dict)
    # The bytes that are there for each reducer.
    sizes: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.sizes = [0] * self.reducers

    def enter(self, map: int, output: PutOutput) -> None:
        self.outputs[map] = output
        for reducer in range(self.reducers):
            self.sizes[reducer] += output.length(reducer)

    def take_out(self, map: int) -> None:
        output = self.outputs.pop(map, None)
        if output is not None:
            for reducer in range(self.reducers):
                self.sizes[reducer] -= output.length(reducer)

    def missing(self) -> list[int]:
        return [each for each in range(self.maps) if each not in self.outputs]

    def stretches(self, reducer: int, first: int) -> list[list[Any]]:
        """The reducer's parts of all maps from the first on, up to one that is missing."""
        found: list[list[Any]] = []
        for index in range(first, min(self.maps, first + STRETCHES_AN_ANSWER)):
            output = self.outputs.get(index)
            if output is None:
                break
            found.append(list(output.stretch(reducer)))
        return found


class ShuffleBook:
    """Keeps account of the shuffles of one exchange, and of the room for them."""

    def __init__(self, capacity_bytes: int, segment_bytes: int) -> None:
        self.segment_bytes = segment_bytes
        self.ledger = Ledger()
        self.ledger.join(NODE, capacity_bytes)
        self.shuffles: dict[int, ShufflePage] = {}
        self.next_shuffle = 0
        self.waits: dict[GuestId, Wait] = {}
        # The file on disk that a guest is about to write, or has written and not told of.
        self.spills: dict[GuestId, str] = {}

    def handle(self, guest: GuestId, words: list[Any], now_s: float) -> list[Command]:
        """What a guest's request brings about; raises BadRequest."""
        if guest in self.waits:
            raise BadRequest("who waits for an answer asks nothing else")
        try:
            match words:
                case ["put", int(shuffle), int(map), block, ends, checks, bool(replace)]:
                    output = self._written(guest, block, ends, checks)
                    return self._put(guest, shuffle, map, output, replace)
                case ["find", int(shuffle), int(reducer), int(first), wait_s]:
                    wait = Wait(shuffle, reducer, first, end_of(wait_s, now_s))
                    return self._find(guest, wait, now_s)
                case ["forget", int(shuffle)]:
                    return self._forget(guest, shuffle)
                case ["lost", int(shuffle), int(map), int(reducer), str(segment), int(offset)]:
                    return self._lost(guest, shuffle, map, reducer, (segment, offset))
                case ["spill", int(number)]:
                    return self._spill(guest, number)
            return [SendAnswer(guest, self._reply(guest, words))]
        except RequestRefused as refused:
            return [SendAnswer(guest, refused.words)]

    def _reply(self, guest: GuestId, words: list[Any]) -> list[Any]:
        match words:
            case ["register", int(maps), int(reducers)]:
                return ["registered", self._register(maps, reducers)]
            case ["lease", int(number), int(size)]:
                return ["leased", self._lease(guest, number, size)]
            case ["missing", int(shuffle)]:
                return ["missing", self._page(shuffle).missing()]
            case ["sizes", int(shuffle)]:
                return ["sizes", list(self._page(shuffle).sizes)]
        raise BadRequest(f"a guest said {str(words)[:200]}")

    # Shuffles

    def _register(self, maps: int, reducers: int) -> int:
        if not (0 <= maps <= MOST_PARTS and 1 <= reducers <= MOST_PARTS):
            raise BadRequest(f"no shuffle has {maps} maps and {reducers} reducers")
        self.next_shuffle += 1
        self.shuffles[self.next_shuffle] = ShufflePage(self.next_shuffle, maps, reducers)
        return self.next_shuffle

    def _page(self, shuffle: int) -> ShufflePage:
        page = self.shuffles.get(shuffle)
        if page is None:
            raise RequestRefused("UnknownShuffle", shuffle)
        return page

    def _forget(self, guest: GuestId, shuffle: int) -> list[Command]:
        page = self.shuffles.pop(shuffle, None)
        if page is None:
            return [SendAnswer(guest, ["forgotten"])]
        commands: list[Command] = []
        for waiting in [each for guests in page.awaited.values() for each in guests]:
            del self.waits[waiting]
            commands.append(SendAnswer(waiting, RequestRefused("UnknownShuffle", shuffle).words))
        drops = [d for each in page.outputs.values() for d in self.ledger.release(each.block)]
        return [*commands, *removal(drops), SendAnswer(guest, ["forgotten"])]

    # Outputs

    def _lease(self, guest: GuestId, number: int, size: int) -> int:
        """How long a segment for a block of this size may be; 0 where there is no room."""
        segment = self._new_name(guest, number)
        if size < 0:
            raise BadRequest(f"segment {segment} of {size} bytes can't be leased")
        unused_bytes = self.ledger.pools[NODE].unused_bytes
        granted = share(size, self.segment_bytes, unused_bytes, len(self.ledger.writers))
        if granted:
            self.ledger.grant(guest, Segment(segment, NODE, NODE, granted), packs=True)
        else:
            self.ledger.fill(guest, kept=False)
        return granted

    def _spill(self, guest: GuestId, number: int) -> list[Command]:
        """The guest is about to write a file; without this word nobody would know whose it is."""
        segment = self._new_name(guest, number)
        drops = self._end_spill(guest)
        self.spills[guest] = segment
        return [*removal(drops), SendAnswer(guest, ["noted"])]

    def _new_name(self, guest: GuestId, number: int) -> str:
        """What a guest calls a segment that is to be made; each of its numbers serves once."""
        segment = segment_name(guest, number)
        is_known = segment in self.ledger.segments or self.spills.get(guest) == segment
        if number < 0 or is_known:
            raise BadRequest(f"guest {guest} can't have a segment {number}")
        return segment

    def _end_spill(self, guest: GuestId) -> list[Drop]:
        """The guest has done with its last file on disk; gives it where it is nobody's."""
        spill = self.spills.pop(guest, None)
        return [] if spill is None or spill in self.ledger.segments else [(NODE, spill)]

    def _written(self, guest: GuestId, block: Any, ends: Any, checks: Any) -> PutOutput:
        """The output that the words tell of, where the guest may have written it."""
        match block:
            case [str(name), int(offset), int(length), ("memory" | "disk") as medium] if (
                offset >= 0 and length >= 0
            ):
                pass
            case _:
                raise BadRequest("a block has a segment, an offset, a length and a medium")
        segment = self.ledger.segments.get(name)
        if medium == "disk":
            has_it = self.spills.get(guest) == name and offset == 0
        else:
            end = offset + length
            has_it = segment is not None and segment.writer == guest and end <= segment.bytes
        if not has_it:
            raise BadRequest(f"segment {name} was not given to guest {guest} for this")
        try:
            output = PutOutput.made(BlockRef(NODE, name, offset, length, medium), ends, checks)
        except (TypeError, OverflowError) as error:
            raise BadRequest(f"no ends and checksums: {error}") from None
        if len(output.ends) != len(output.checks) or not are_ends(output.ends, length):
            raise BadRequest("parts that are not within their block")
        return output

    def _put(
        self, guest: GuestId, shuffle: int, map: int, output: PutOutput, replace: bool
    ) -> list[Command]:
        try:
            replaced = self._enter(guest, shuffle, map, output, replace)
            words = ["put", replaced is not output]
        except RequestRefused as refused:
            replaced, words = None, refused.words
        drops = self.ledger.settle(guest) + self._end_spill(guest)
        if replaced is not None and replaced is not output:
            drops += self.ledger.release(replaced.block)
        commands: list[Command] = [*removal(drops), SendAnswer(guest, words)]
        return commands + self._answer_waiting(shuffle, map)

    def _enter(
        self, guest: GuestId, shuffle: int, map: int, output: PutOutput, replace: bool
    ) -> PutOutput | None:
        """Enters the output, and gives the one before it; itself where the same is there."""
        page = self._page(shuffle)
        if not 0 <= map < page.maps or len(output.ends) != page.reducers:
            raise BadRequest(f"map {map} of {len(output.ends)} parts is not of shuffle {shuffle}")
        known = page.outputs.get(map)
        if known is not None and not replace:
            if not known.has_bytes_of(output):
                raise RequestRefused("AlreadyPut", shuffle, map)
            return output
        self.ledger.pin(output.block, guest)
        page.take_out(map)
        page.enter(map, output)
        return known

    def _lost(
        self, guest: GuestId, shuffle: int, map: int, reducer: int, place: tuple[str, int]
    ) -> list[Command]:
        """A reader could not use a part: the map is missing, unless it was put anew since."""
        page = self._page(shuffle)
        if not 0 <= reducer < page.reducers:
            raise BadRequest(f"shuffle {shuffle} has no reducer {reducer}")
        known = page.outputs.get(map)
        if known is None:
            return [SendAnswer(guest, ["lost", True])]
        if known.stretch(reducer)[:2] != place:
            return [SendAnswer(guest, ["lost", False])]
        page.take_out(map)
        return [*removal(self.ledger.release(known.block)), SendAnswer(guest, ["lost", True])]

    # Waiting

    def _find(self, guest: GuestId, wait: Wait, now_s: float) -> list[Command]:
        page = self._page(wait.shuffle)
        if not (0 <= wait.reducer < page.reducers and 0 <= wait.first < page.maps):
            raise BadRequest(f"{wait} is not of its shuffle")
        found = page.stretches(wait.reducer, wait.first)
        if found:
            return [SendAnswer(guest, ["found", found])]
        if wait.until_s is not None and wait.until_s <= now_s:
            raise RequestRefused("MapsMissing", wait.shuffle, wait.reducer, page.missing())
        self.waits[guest] = wait
        page.awaited.setdefault(wait.first, []).append(guest)
        return []

    def _answer_waiting(self, shuffle: int, map: int) -> list[Command]:
        page = self.shuffles.get(shuffle)
        if page is None or map not in page.outputs:
            return []
        guests = page.awaited.pop(map, [])
        waits = [self.waits.pop(each) for each in guests]
        return [
            SendAnswer(guest, ["found", page.stretches(wait.reducer, wait.first)])
            for guest, wait in zip(guests, waits, strict=True)
        ]

    def expire(self, now_s: float) -> list[Command]:
        """Those who have waited as long as they would are told what is missing."""
        commands: list[Command] = []
        for guest, wait in list(self.waits.items()):
            if wait.until_s is not None and wait.until_s <= now_s:
                self._end_wait(guest)
                missing = self.shuffles[wait.shuffle].missing()
                refused = RequestRefused("MapsMissing", wait.shuffle, wait.reducer, missing)
                commands.append(SendAnswer(guest, refused.words))
        return commands

    def next_expiry_s(self) -> float | None:
        """When somebody will have waited long enough."""
        return min((w.until_s for w in self.waits.values() if w.until_s is not None), default=None)

    def leave(self, guest: GuestId) -> list[Command]:
        """A guest has gone, however it was: what it wrote and told nobody of goes with it."""
        self._end_wait(guest)
        return [*removal(self.ledger.seal(guest) + self._end_spill(guest))]

    def _end_wait(self, guest: GuestId) -> None:
        wait = self.waits.pop(guest, None)
        if wait is None:
            return
        awaited = self.shuffles[wait.shuffle].awaited
        awaited[wait.first].remove(guest)
        if not awaited[wait.first]:
            del awaited[wait.first]

    def check(self) -> None:
        """What always holds."""
        self.ledger.check()
        live: dict[str, int] = {}
        waiting: dict[GuestId, int] = {}
        for id, page in self.shuffles.items():
            assert id == page.id
            for reducer, size in enumerate(page.sizes):
                assert size == sum(each.length(reducer) for each in page.outputs.values())
            for output in page.outputs.values():
                live[output.block.segment] = live.get(output.block.segment, 0) + 1
            for first, guests in page.awaited.items():
                assert guests and first not in page.outputs, (id, first)
                waiting.update(dict.fromkeys(guests, id))
        assert live == {n: s.live for n, s in self.ledger.segments.items() if s.live}
        assert waiting == {guest: wait.shuffle for guest, wait in self.waits.items()}
        for guest, name in self.spills.items():
            assert name not in self.ledger.segments, (guest, name)


def share(size: int, segment_bytes: int, unused_bytes: int, writers: int) -> int:
    """How long a segment is that is begun with a block of this size; 0 where there is no room."""
    if size > unused_bytes:
        return 0
    # Each writer holds one that may stay nearly empty: many must not use up the pool that way.
    wanted = max(PAGE_BYTES, min(segment_bytes, unused_bytes // max(SHARES, writers)))
    return max(size, min(wanted, unused_bytes))


def end_of(wait_s: Any, now_s: float) -> float | None:
    """When somebody who would wait so long has done so; None is for ever."""
    match wait_s:
        case None:
            return None
        case int() | float() if 0 <= wait_s < math.inf:
            return now_s + min(wait_s, LONGEST_WAIT_S)
    raise BadRequest(f"nobody waits for {str(wait_s)[:50]} seconds")


def removal(drops: Sequence[Drop]) -> list[Remove]:
    """The command that removes these, if there are any."""
    return [Remove([name for _, name in drops])] if drops else []
