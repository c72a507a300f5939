"""The book of an exchange: where the maps of each shuffle are, and who waits for them. Pure.

It handles the requests of clients (one client is one connection) and answers with commands.
Messages are lists of plain values, as they are sent.
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
# Clients write segments here, as executors do in the scheduler's ledger.
ClientId = ExecutorId
# The most parts in one answer: a reducer with more maps asks again.
PARTS_AN_ANSWER = 1024
# The most maps and reducers of a shuffle; the messages of a larger one would be too long.
MOST_PARTS = 100_000
# A segment takes at most this fraction of the free room, or less with more writers.
SHARES = 8
# A smaller segment would not save memory.
PAGE_BYTES = 4096
# Longer waits are cut to this, so that sums with times stay exact.
LONGEST_WAIT_S = 1e9


class SendAnswer(NamedTuple):
    """The answer to a client's request."""

    client: ClientId
    message: list[Any]


class Remove(NamedTuple):
    """Segments to remove."""

    segments: list[str]


Command = SendAnswer | Remove


class BadRequest(ValueError):
    """A request that violates the protocol: its client is to be closed."""


class RequestRefused(Exception):
    """A request is refused: with the name of an error and its arguments."""

    def __init__(self, error: str, *facts: Any) -> None:
        super().__init__(error, *facts)

    @property
    def message(self) -> list[Any]:
        return ["refused", *self.args]


@dataclass(slots=True)
class Wait:
    """A client that waits for a map."""

    shuffle: int
    reducer: int
    first: int
    until_s: float | None


@dataclass(slots=True)
class ShufflePage:
    """One shuffle: its outputs, and the clients that wait for each map."""

    id: int
    maps: int
    reducers: int
    outputs: dict[int, PutOutput] = field(default_factory=dict)
    awaited: dict[int, list[ClientId]] = field(default_factory=dict)
    # The bytes that are available for each reducer.
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

    def part_refs(self, reducer: int, first: int) -> list[list[Any]]:
        """The reducer's parts of the maps from the first on, up to one that is missing."""
        found: list[list[Any]] = []
        for index in range(first, min(self.maps, first + PARTS_AN_ANSWER)):
            output = self.outputs.get(index)
            if output is None:
                break
            found.append(list(output.part_ref(reducer)))
        return found


class ShuffleBook:
    """Records the shuffles of one exchange, and the room for them."""

    def __init__(self, capacity_bytes: int, segment_bytes: int) -> None:
        self.segment_bytes = segment_bytes
        self.ledger = Ledger()
        self.ledger.join(NODE, capacity_bytes)
        self.shuffles: dict[int, ShufflePage] = {}
        self.next_shuffle = 0
        self.waits: dict[ClientId, Wait] = {}
        # The file on disk that a client writes, or has written and not put yet.
        self.spills: dict[ClientId, str] = {}

    def handle(self, client: ClientId, message: list[Any], now_s: float) -> list[Command]:
        """Handles a client's request; raises BadRequest."""
        if client in self.waits:
            raise BadRequest("a client that waits for an answer sends no other request")
        try:
            match message:
                case ["put", int(shuffle), int(map), block, ends, checks, bool(replace)]:
                    output = self._written(client, block, ends, checks)
                    return self._put(client, shuffle, map, output, replace)
                case ["find", int(shuffle), int(reducer), int(first), wait_s]:
                    wait = Wait(shuffle, reducer, first, end_of(wait_s, now_s))
                    return self._find(client, wait, now_s)
                case ["forget", int(shuffle)]:
                    return self._forget(client, shuffle)
                case ["lost", int(shuffle), int(map), int(reducer), str(segment), int(offset)]:
                    return self._lost(client, shuffle, map, reducer, (segment, offset))
                case ["spill", int(number)]:
                    return self._spill(client, number)
            return [SendAnswer(client, self._reply(client, message))]
        except RequestRefused as refused:
            return [SendAnswer(client, refused.message)]

    def _reply(self, client: ClientId, message: list[Any]) -> list[Any]:
        match message:
            case ["register", int(maps), int(reducers)]:
                return ["registered", self._register(maps, reducers)]
            case ["lease", int(number), int(size)]:
                return ["leased", self._lease(client, number, size)]
            case ["missing", int(shuffle)]:
                return ["missing", self._page(shuffle).missing()]
            case ["sizes", int(shuffle)]:
                return ["sizes", list(self._page(shuffle).sizes)]
        raise BadRequest(f"a client sent {str(message)[:200]}")

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

    def _forget(self, client: ClientId, shuffle: int) -> list[Command]:
        page = self.shuffles.pop(shuffle, None)
        if page is None:
            return [SendAnswer(client, ["forgotten"])]
        commands: list[Command] = []
        for waiting in [each for clients in page.awaited.values() for each in clients]:
            del self.waits[waiting]
            commands.append(SendAnswer(waiting, RequestRefused("UnknownShuffle", shuffle).message))
        drops = [d for each in page.outputs.values() for d in self.ledger.release(each.block)]
        return [*commands, *removal(drops), SendAnswer(client, ["forgotten"])]

    # Outputs

    def _lease(self, client: ClientId, number: int, size: int) -> int:
        """Returns the length of a segment for a block of this size; 0 if there is no room."""
        segment = self._new_name(client, number)
        if size < 0:
            raise BadRequest(f"segment {segment} of {size} bytes can't be leased")
        unused_bytes = self.ledger.pools[NODE].unused_bytes
        granted = share(size, self.segment_bytes, unused_bytes, len(self.ledger.writers))
        if granted:
            self.ledger.grant(client, Segment(segment, NODE, NODE, granted), packs=True)
        else:
            self.ledger.fill(client, kept=False)
        return granted

    def _spill(self, client: ClientId, number: int) -> list[Command]:
        """Records the file that a client is about to write, so that it is removed with it."""
        segment = self._new_name(client, number)
        drops = self._end_spill(client)
        self.spills[client] = segment
        return [*removal(drops), SendAnswer(client, ["noted"])]

    def _new_name(self, client: ClientId, number: int) -> str:
        """The name of a client's new segment; each of its numbers is used once."""
        segment = segment_name(client, number)
        is_known = segment in self.ledger.segments or self.spills.get(client) == segment
        if number < 0 or is_known:
            raise BadRequest(f"client {client} can't have a segment {number}")
        return segment

    def _end_spill(self, client: ClientId) -> list[Drop]:
        """Forgets the client's last file on disk; returns it if no output is in it."""
        spill = self.spills.pop(client, None)
        return [] if spill is None or spill in self.ledger.segments else [(NODE, spill)]

    def _written(self, client: ClientId, block: Any, ends: Any, checks: Any) -> PutOutput:
        """Decodes an output, and checks that the client may have written it."""
        match block:
            case [str(name), int(offset), int(length), ("memory" | "disk") as medium] if (
                offset >= 0 and length >= 0
            ):
                pass
            case _:
                raise BadRequest("a block has a segment, an offset, a length and a medium")
        segment = self.ledger.segments.get(name)
        if medium == "disk":
            has_it = self.spills.get(client) == name and offset == 0
        else:
            end = offset + length
            has_it = segment is not None and segment.writer == client and end <= segment.bytes
        if not has_it:
            raise BadRequest(f"segment {name} was not given to client {client} for this")
        try:
            output = PutOutput.made(BlockRef(NODE, name, offset, length, medium), ends, checks)
        except (TypeError, OverflowError) as error:
            raise BadRequest(f"no ends and checksums: {error}") from None
        if len(output.ends) != len(output.checks) or not are_ends(output.ends, length):
            raise BadRequest("parts that are not within their block")
        return output

    def _put(
        self, client: ClientId, shuffle: int, map: int, output: PutOutput, replace: bool
    ) -> list[Command]:
        try:
            replaced = self._enter(client, shuffle, map, output, replace)
            message = ["put", replaced is not output]
        except RequestRefused as refused:
            replaced, message = None, refused.message
        drops = self.ledger.settle(client) + self._end_spill(client)
        if replaced is not None and replaced is not output:
            drops += self.ledger.release(replaced.block)
        commands: list[Command] = [*removal(drops), SendAnswer(client, message)]
        return commands + self._answer_waiting(shuffle, map)

    def _enter(
        self, client: ClientId, shuffle: int, map: int, output: PutOutput, replace: bool
    ) -> PutOutput | None:
        """Enters the output; returns the one it replaces, or itself if it was put before."""
        page = self._page(shuffle)
        if not 0 <= map < page.maps or len(output.ends) != page.reducers:
            raise BadRequest(f"map {map} of {len(output.ends)} parts is not of shuffle {shuffle}")
        known = page.outputs.get(map)
        if known is not None and not replace:
            if not known.has_bytes_of(output):
                raise RequestRefused("AlreadyPut", shuffle, map)
            return output
        self.ledger.pin(output.block, client)
        page.take_out(map)
        page.enter(map, output)
        return known

    def _lost(
        self, client: ClientId, shuffle: int, map: int, reducer: int, place: tuple[str, int]
    ) -> list[Command]:
        """A reader found a part lost: the map is missing now, unless it was put again since."""
        page = self._page(shuffle)
        if not 0 <= reducer < page.reducers:
            raise BadRequest(f"shuffle {shuffle} has no reducer {reducer}")
        known = page.outputs.get(map)
        if known is None:
            return [SendAnswer(client, ["lost", True])]
        if known.part_ref(reducer)[:2] != place:
            return [SendAnswer(client, ["lost", False])]
        page.take_out(map)
        return [*removal(self.ledger.release(known.block)), SendAnswer(client, ["lost", True])]

    # Waiting

    def _find(self, client: ClientId, wait: Wait, now_s: float) -> list[Command]:
        page = self._page(wait.shuffle)
        if not (0 <= wait.reducer < page.reducers and 0 <= wait.first < page.maps):
            raise BadRequest(f"{wait} is not of its shuffle")
        found = page.part_refs(wait.reducer, wait.first)
        if found:
            return [SendAnswer(client, ["found", found])]
        if wait.until_s is not None and wait.until_s <= now_s:
            raise RequestRefused("MapsMissing", wait.shuffle, wait.reducer, page.missing())
        self.waits[client] = wait
        page.awaited.setdefault(wait.first, []).append(client)
        return []

    def _answer_waiting(self, shuffle: int, map: int) -> list[Command]:
        page = self.shuffles.get(shuffle)
        if page is None or map not in page.outputs:
            return []
        clients = page.awaited.pop(map, [])
        waits = [self.waits.pop(each) for each in clients]
        return [
            SendAnswer(client, ["found", page.part_refs(wait.reducer, wait.first)])
            for client, wait in zip(clients, waits, strict=True)
        ]

    def expire(self, now_s: float) -> list[Command]:
        """Ends the waits whose time is over, and answers with the missing maps."""
        commands: list[Command] = []
        for client, wait in list(self.waits.items()):
            if wait.until_s is not None and wait.until_s <= now_s:
                self._end_wait(client)
                missing = self.shuffles[wait.shuffle].missing()
                refused = RequestRefused("MapsMissing", wait.shuffle, wait.reducer, missing)
                commands.append(SendAnswer(client, refused.message))
        return commands

    def next_expiry_s(self) -> float | None:
        """When the next wait is over."""
        return min((w.until_s for w in self.waits.values() if w.until_s is not None), default=None)

    def leave(self, client: ClientId) -> list[Command]:
        """Forgets a client that has disconnected; removes what it wrote and did not put."""
        self._end_wait(client)
        return [*removal(self.ledger.seal(client) + self._end_spill(client))]

    def _end_wait(self, client: ClientId) -> None:
        wait = self.waits.pop(client, None)
        if wait is None:
            return
        awaited = self.shuffles[wait.shuffle].awaited
        awaited[wait.first].remove(client)
        if not awaited[wait.first]:
            del awaited[wait.first]

    def check(self) -> None:
        """Checks the invariants."""
        self.ledger.check()
        live: dict[str, int] = {}
        waiting: dict[ClientId, int] = {}
        for id, page in self.shuffles.items():
            assert id == page.id
            for reducer, size in enumerate(page.sizes):
                assert size == sum(each.length(reducer) for each in page.outputs.values())
            for output in page.outputs.values():
                live[output.block.segment] = live.get(output.block.segment, 0) + 1
            for first, clients in page.awaited.items():
                assert clients and first not in page.outputs, (id, first)
                waiting.update(dict.fromkeys(clients, id))
        assert live == {n: s.live for n, s in self.ledger.segments.items() if s.live}
        assert waiting == {client: wait.shuffle for client, wait in self.waits.items()}
        for client, name in self.spills.items():
            assert name not in self.ledger.segments, (client, name)


def share(size: int, segment_bytes: int, unused_bytes: int, writers: int) -> int:
    """The length of a new segment for a block of this size; 0 if there is no room."""
    if size > unused_bytes:
        return 0
    # Each writer's segment may stay nearly empty: many of them must not use up the pool.
    wanted = max(PAGE_BYTES, min(segment_bytes, unused_bytes // max(SHARES, writers)))
    return max(size, min(wanted, unused_bytes))


def end_of(wait_s: Any, now_s: float) -> float | None:
    """The end of a wait; None is for ever."""
    match wait_s:
        case None:
            return None
        case int() | float() if 0 <= wait_s < math.inf:
            return now_s + min(wait_s, LONGEST_WAIT_S)
    raise BadRequest(f"nobody waits for {str(wait_s)[:50]} seconds")


def removal(drops: Sequence[Drop]) -> list[Remove]:
    """The command that removes these segments, if there are any."""
    return [Remove([name for _, name in drops])] if drops else []
