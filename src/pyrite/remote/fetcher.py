"""Fetches parts of map outputs into prefetched segments, before the reducers that read them start.

SCache 4.1: a reducer's input is brought to its node while maps still run. The scheduler decides
what is fetched where.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Container, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, NamedTuple

from pyrite.blocks.codec import CorruptBlock
from pyrite.blocks.fetched import (
    SelectionEntry,
    Stretch,
    aligned,
    directory_bytes,
    entry_behind,
    pack_directory,
)
from pyrite.blocks.parts import select
from pyrite.blocks.segments import Folders
from pyrite.blocks.stretches import Stretches, free_behind
from pyrite.ids import Medium
from pyrite.remote.asking import ByteRange
from pyrite.remote.errors import Address, BlockGone, unpacked
from pyrite.remote.fetchcost import FetchWatch, IdleCores, MeasuredFetch
from pyrite.remote.files import open_segment
from pyrite.remote.orders import Hand, NotDone, Orders

# A copy of a local file is cancelled between two pieces of this size.
PIECE_BYTES = 4 << 20
# Selections below this average are requested together, in batches of so many bytes.
SMALL_BYTES = 64 << 10
BATCH_BYTES = 1 << 20
# The memory that each worker keeps to receive them into.
KEPT_BYTES = 4 << 20


class FetchOrder(NamedTuple):
    """Which parts of one node's map outputs to fetch into which new segment.

    Without an address the outputs are on the own node.
    """

    id: int
    target: str
    medium: Medium
    size_bytes: int
    address: Address | None
    parts: tuple[int, ...]
    maps: tuple[int, ...]
    blocks: tuple[ByteRange, ...]
    # Where the segment lies, if it has no file of its own.
    stretch: Stretch | None = None


class Fetcher(Orders[FetchOrder]):
    """Writes prefetched segments, from several source nodes at once."""

    name = "fetcher"
    # How many sources are read from at once.
    most_threads = 4

    def __init__(
        self,
        folders: Folders,
        secret: bytes | None,
        done: Callable[[int, str | None], None],
        forgotten: Container[str] = (),
    ) -> None:
        super().__init__(folders, secret, done, forgotten)
        self.stretches = Stretches(folders, knows_all=False)
        self.idle = IdleCores()
        # How many orders are under way: those from other nodes wait for the same link.
        self.under_way = 0
        # The costs of orders that are carried out, until somebody reports them.
        self.costs: dict[int, MeasuredFetch] = {}

    def take(self, order: FetchOrder) -> None:
        if order.stretch is not None:
            self.stretches.add(order.target, order.stretch)
        super().take(order)

    def new_hand(self) -> Puller:
        return Puller(self, self)


class Puller(Hand[FetchOrder]):
    """Writes one prefetched segment after another."""

    kept_bytes = KEPT_BYTES

    def __init__(self, orders: Orders[FetchOrder], fetcher: Fetcher) -> None:
        super().__init__(orders)
        self.fetcher = fetcher

    def carry_out(self, order: FetchOrder) -> None:
        if order.address is None:
            self._make_segment(order)
            return
        watch = FetchWatch(self.fetcher.idle)
        with self.fetcher.changed:
            self.fetcher.under_way += 1
        try:
            self._make_segment(order)
            self.fetcher.costs[order.id] = watch.cost(self.fetcher.under_way)
        finally:
            with self.fetcher.changed:
                self.fetcher.under_way -= 1

    def _make_segment(self, order: FetchOrder) -> None:
        self.check_wanted(order.target)
        if directory_bytes(len(order.maps)) > order.size_bytes:
            raise _too_small(order)
        if order.stretch is not None:
            with self._filling(order, order.stretch) as target:
                fetched = mmap.mmap(target, order.size_bytes, offset=order.stretch.offset)
                free_behind(fetched, self._fill(fetched, order))
            return
        with self.making(order.target, order.medium) as target:
            try:
                # Allocates all pages now: a page that is missing when the map is written would be a
                # signal instead of an error.
                os.posix_fallocate(target, 0, order.size_bytes)
            except OSError as error:
                raise self.no_room(order.medium, error) from None
            os.ftruncate(target, self._fill(mmap.mmap(target, order.size_bytes), order))

    def _filling(self, order: FetchOrder, stretch: Stretch) -> AbstractContextManager[int]:
        """Opens a stretch's file; frees the stretch if it is not completed, or dropped
        meanwhile."""
        stretches = self.fetcher.stretches
        free = partial(stretches.free, stretch)
        try:
            target = stretches.open(stretch)
        except OSError as error:
            free()
            raise self.no_room(order.medium, error) from None
        return self.filling(order.target, target, free)

    def _fill(self, fetched: mmap.mmap, order: FetchOrder) -> int:
        """Writes a segment into a map, which is freed with its last view; returns its length."""
        packing = Packing(memoryview(fetched), order)
        while len(packing.entries) < len(order.maps):
            self.check_open()
            self.check_kept(order.target)
            self._pull_some(packing, order)
        return packing.finish()

    def _pull_some(self, packing: Packing, order: FetchOrder) -> None:
        """Adds the selections of one or more of the next map outputs."""
        done = len(packing.entries)
        if order.address is None:
            with OwnOutput(self.folders, order.blocks[done], self.check_open) as own:
                packing.add(own.select(order, packing.room))
            return
        client = self.know_client()
        if order.size_bytes > len(order.maps) * SMALL_BYTES:
            block = order.blocks[done]
            packing.add(client.gather_into(order.address, block, order.parts, packing.room))
            return
        # Copying small selections is cheaper than a round trip for each.
        wanted = order.blocks[done:]
        for selection in client.gather(order.address, wanted, order.parts, BATCH_BYTES):
            if isinstance(selection, BlockGone):
                raise NotDone(str(selection))
            packing.lay(selection)


class Packing:
    """A prefetched segment under construction: selections in sequence, the directory last."""

    def __init__(self, fetched: memoryview, order: FetchOrder) -> None:
        self.fetched = fetched
        self.order = order
        self.entries: list[SelectionEntry] = []
        self.end = directory_bytes(len(order.maps))

    @property
    def room(self) -> memoryview:
        """The free bytes, from the start of the next selection."""
        return self.fetched[aligned(self.end) :]

    def add(self, length: int) -> None:
        """Records the next selection, which was written at the start of `room`."""
        entry = entry_behind(self.end, self.order.maps[len(self.entries)], length)
        self.entries.append(entry)
        self.end = entry.offset + length

    def lay(self, selection: memoryview) -> None:
        """Copies the next selection into its place."""
        if len(selection) > len(self.room):
            raise _too_small(self.order)
        self.room[: len(selection)] = selection
        self.add(len(selection))

    def finish(self) -> int:
        """Writes the directory; returns the length.

        It is written last, so that an incomplete segment can't be read.
        """
        directory = pack_directory(self.entries)
        self.fetched[: len(directory)] = directory
        return self.end


class OwnOutput:
    """A map output in a local file, which may be truncated or removed while it is read."""

    def __init__(self, folders: Folders, block: ByteRange, check_open: Callable[[], None]) -> None:
        self.segment, self.offset, self.length, medium = block
        self.check_open = check_open
        self.fd = open_segment(folders, self.segment, medium)

    def __enter__(self) -> OwnOutput:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)

    def select(self, order: FetchOrder, room: memoryview) -> int:
        """Copies the selection's header and parts; returns their length."""
        if os.fstat(self.fd).st_size < self.offset + self.length:
            raise self._cut()
        try:
            header, spans = select(self._read, self.length, order.parts)
        except CorruptBlock as error:
            raise NotDone(f"segment {self.segment}, offset {self.offset}: {error}") from None
        end = len(header) + sum(size for _, size in spans)
        if end > len(room):
            raise _too_small(order)
        room[: len(header)] = header
        position = len(header)
        for start, size in spans:
            self._copy(start, room[position : position + size])
            position += size
        return end

    def _read(self, start: int, size: int) -> bytes:
        data = os.pread(self.fd, size, self.offset + start)
        if len(data) < size:
            raise self._cut()
        return data

    def _copy(self, start: int, room: memoryview) -> None:
        position = 0
        while position < len(room):
            self.check_open()
            piece = room[position : position + PIECE_BYTES]
            # Not from a map: reading a truncated file there would be a signal.
            got = os.preadv(self.fd, [piece], self.offset + start + position)
            if not got:
                raise self._cut()
            position += got

    def _cut(self) -> NotDone:
        return NotDone(f"segment {self.segment} is shorter than its block")


def _too_small(order: FetchOrder) -> NotDone:
    return NotDone(
        f"{len(order.parts)} parts of {len(order.maps)} map outputs "
        f"do not fit into segment {order.target} of {order.size_bytes} bytes"
    )


def unpacked_order(message: Sequence[Any]) -> FetchOrder:
    """Restores an order from JSON, which turns tuples into lists."""
    id, target, medium, size_bytes, address, parts, maps, blocks, shared = message
    ranges = tuple(ByteRange(*block) for block in blocks)
    peer = unpacked(address)
    stretch = None if shared is None else Stretch(*shared)
    return FetchOrder(
        id, target, medium, size_bytes, peer, tuple(parts), tuple(maps), ranges, stretch
    )
