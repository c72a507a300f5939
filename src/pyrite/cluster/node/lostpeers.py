"""Block servers that were given up: told to executors that may be waiting for their answers."""

from __future__ import annotations

import mmap
import struct

COUNT = struct.Struct("<q")
SLOT_BYTES = 256
SLOTS = mmap.PAGESIZE // SLOT_BYTES - 1
PORT_SEPARATOR = "\n"


class LostPeers:
    """A page that an agent shares with its executors: it writes addresses, and a signal makes the
    executors read them, wherever they are.

    The latest are kept; who was not told of one waits for its timeout, as without.
    """

    def __init__(self) -> None:
        self.map = mmap.mmap(-1, mmap.PAGESIZE)
        self.taken = 0

    def add(self, address: tuple[str, int]) -> None:
        (count,) = COUNT.unpack_from(self.map, 0)
        text = f"{address[0]}{PORT_SEPARATOR}{address[1]}".encode()[:SLOT_BYTES]
        at = (1 + count % SLOTS) * SLOT_BYTES
        self.map[at : at + SLOT_BYTES] = text.ljust(SLOT_BYTES, b"\0")
        # Last, so that nobody reads half of it.
        COUNT.pack_into(self.map, 0, count + 1)

    def skip(self) -> None:
        """Passes over what is there: a new executor is told only of living peers."""
        (self.taken,) = COUNT.unpack_from(self.map, 0)

    def take(self) -> list[tuple[str, int]]:
        """The addresses that were added since the last call."""
        (count,) = COUNT.unpack_from(self.map, 0)
        numbers = range(max(self.taken, count - SLOTS), count)
        self.taken = count
        return [self._read(number) for number in numbers]

    def _read(self, number: int) -> tuple[str, int]:
        at = (1 + number % SLOTS) * SLOT_BYTES
        text = self.map[at : at + SLOT_BYTES].rstrip(b"\0").decode()
        host, _, port = text.partition(PORT_SEPARATOR)
        return host, int(port)
