"""Paces requests for parts of many map outputs: how many are sent ahead of their replies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pyrite.blocks.parts import selection_header_bytes
from pyrite.ids import Medium
from pyrite.remote.protocol import MOST_BYTES, Kind, pack_parts, pack_request

# How many requests are sent before their replies are read.
WINDOW = 32
# And how many bytes of requests: a server whose replies are not read stops reading requests.
WINDOW_BYTES = 32 << 10


class ByteRange(NamedTuple):
    """Requested bytes of a segment."""

    segment: str
    offset: int
    length: int
    medium: Medium = "memory"


class Enough(Exception):
    """The reply is far longer than expected or allowed: the rest must wait."""


class Asking:
    """Decides which requests to send next, so that the replies stay within a limit.

    The size of a part is unknown before it arrives: the largest so far is the estimate.
    """

    def __init__(
        self,
        blocks: Sequence[ByteRange],
        parts: Sequence[int],
        most_bytes: int,
        longest_bytes: int = MOST_BYTES,
    ) -> None:
        self.blocks = blocks
        self.parts = parts
        self.most_bytes = most_bytes
        self.longest_bytes = longest_bytes
        self.packed_parts = pack_parts(parts)
        self.header_bytes = selection_header_bytes(len(parts))
        self.window = max(1, min(WINDOW, WINDOW_BYTES // len(self.packed_parts)))
        self.asked = self.answered = 0
        self.came_bytes = self.largest_bytes = 0

    def restart(self, answered: int) -> None:
        """Starts again after the answered requests: the others must be sent again."""
        self.asked = self.answered = answered

    @property
    def is_waiting(self) -> bool:
        """Whether a request is unanswered."""
        return self.asked > self.answered

    def next_requests(self) -> list[bytes]:
        """The requests to send before the next reply is read."""
        requests: list[bytes] = []
        if self.asked - self.answered > self.window // 2:
            return requests
        last = min(len(self.blocks), self.answered + self.window)
        while self.asked < last and self._may_ask(self.blocks[self.asked]):
            block = self.blocks[self.asked]
            requests += pack_request(Kind.GATHER, *block, len(self.parts)), self.packed_parts
            self.asked += 1
        return requests

    def _may_ask(self, block: ByteRange) -> bool:
        if self.asked == 0:
            return True
        each = self.most_of(block)
        if self.answered:
            each = min(each, self.largest_bytes)
        expected = (self.asked - self.answered + 1) * each
        return self.came_bytes + expected <= self.most_bytes

    def most_of(self, block: ByteRange) -> int:
        """The maximum length of a selection of the block."""
        return self.header_bytes + block.length

    def accept(self, length: int) -> int:
        """Returns the length of the reply that follows if it may be received; raises Enough."""
        room = 2 * self.most_bytes - self.came_bytes if self.answered else self.longest_bytes
        if length > room:
            raise Enough
        return length

    def came(self, length: int) -> None:
        """Counts a reply that was received."""
        self.answered += 1
        self.came_bytes += length
        self.largest_bytes = max(self.largest_bytes, length)
