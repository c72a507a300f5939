"""Moves whole segments: to another node's memory or disk, or to the own node's disk.

R3S 3.2: an evicted segment goes to the node with the most room, else to its owner's disk. The
scheduler decides where.
"""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from pyrite.ids import Medium
from pyrite.remote.errors import Address
from pyrite.remote.files import open_segment
from pyrite.remote.gate import own_gate
from pyrite.remote.orders import Hand, NotDone, Orders

# A copy is cancelled between two pieces of this size.
PIECE_BYTES = 4 << 20
# How much is read at once where TLS encrypts it.
READ_BYTES = 256 << 10


class MoveOrder(NamedTuple):
    """A segment in memory, and the name and place of its copy; without an address on the own
    node."""

    id: int
    segment: str
    target: str
    medium: Medium
    address: Address | None


class Mover(Orders[MoveOrder]):
    """Copies a node's segments to other places, one after another.

    The segment itself stays until it is removed.
    """

    name = "mover"
    most_threads = 1

    def new_hand(self) -> Carrier:
        return Carrier(self)


class Carrier(Hand[MoveOrder]):
    """Copies one segment after another."""

    def carry_out(self, order: MoveOrder) -> None:
        self.check_wanted(order.target)
        source = open_segment(self.folders, order.segment, "memory")
        try:
            size = os.fstat(source).st_size
            filled = filled_bytes(source, size)
            if order.address is None:
                self._copy(source, filled, size, order)
            else:
                self._send(source, filled, size, order)
        finally:
            os.close(source)

    def _send(self, source: int, filled: int, size: int, order: MoveOrder) -> None:
        assert order.address is not None
        client = self.know_client()
        # As one block, however large: the receiver keeps all of it or nothing.
        if own_gate() is not None:
            # With TLS this process reads all that it sends, and a truncated map would be a signal.
            pieces = partial(self._pieces, source, filled, order)
            client.write_pieces(order.address, order.target, pieces, filled, size, order.medium)
            return
        # Only the kernel reads the map: a truncated file is an error to it, no signal. The map is
        # freed with its last view.
        data: Any = mmap.mmap(source, filled, prot=mmap.PROT_READ) if filled else b""
        client.write(order.address, order.target, 0, [data], size, order.medium)

    def _pieces(self, source: int, filled: int, order: MoveOrder) -> Iterator[bytes]:
        position = 0
        while position < filled:
            data = os.pread(source, min(READ_BYTES, filled - position), position)
            if not data:
                raise became_shorter(order)
            yield data
            position += len(data)

    def _copy(self, source: int, filled: int, size: int, order: MoveOrder) -> None:
        with self.making(order.target, order.medium) as target:
            try:
                self._fill(target, source, filled, order)
                os.ftruncate(target, size)
            except OSError as error:
                raise self.no_room(order.medium, error) from None

    def _fill(self, target: int, source: int, filled: int, order: MoveOrder) -> None:
        position = 0
        while position < filled:
            self.check_open()
            sent = os.sendfile(target, source, position, min(PIECE_BYTES, filled - position))
            if sent == 0:
                raise became_shorter(order)
            position += sent


def became_shorter(order: MoveOrder) -> NotDone:
    return NotDone(f"segment {order.segment} became shorter while it was copied")


def filled_bytes(fd: int, size: int) -> int:
    """The end of the written bytes: a segment that is not full ends in a hole.

    Mapping the hole would fill it with new memory, just when memory is short.
    """
    end = 0
    try:
        while end < size:
            end = os.lseek(fd, os.lseek(fd, end, os.SEEK_DATA), os.SEEK_HOLE)
    except OSError as error:
        # ENXIO: a hole up to the end. Other errors: the file system does not support it.
        return end if error.errno == errno.ENXIO else size
    return min(end, size)
