"""Fetching parts of map outputs ahead of the reducers that will read them, into parcels.

SCache 4.1: what a reducer needs is brought to its node while maps still run. What is fetched
where is decided elsewhere; here its bytes come.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import stat
import threading
import time
from collections import deque
from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pyrite.blocks.codec import CorruptBlock
from pyrite.blocks.parcel import Entry, aligned, directory_bytes, pack_directory
from pyrite.blocks.parts import select
from pyrite.blocks.segments import Folders
from pyrite.remote.asking import Stretch
from pyrite.remote.errors import Address, BlockGone, PeerLost, unpacked

if TYPE_CHECKING:
    from pyrite.remote.client import BlockClient

# So many sources are pulled from at once.
MOST_THREADS = 4
# Between two pieces of an own file a fetch can be abandoned.
PIECE_BYTES = 4 << 20
# Selections below this on average are asked for together, so many bytes at once.
SMALL_BYTES = 64 << 10
BATCH_BYTES = 1 << 20
# What a thread keeps to receive them into.
KEPT_BYTES = 4 << 20
CLOSE_S = 5.0
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_MAKE = os.O_RDWR | os.O_CLOEXEC | os.O_CREAT | os.O_EXCL


class FetchOrder(NamedTuple):
    """Which parts of which map outputs of one node shall lie in which new segment.

    Without an address they are the own node's.
    """

    id: int
    target: str
    size_bytes: int
    address: Address | None
    parts: tuple[int, ...]
    maps: tuple[int, ...]
    blocks: tuple[Stretch, ...]


class NotFetched(Exception):
    """Why a parcel does not lie at its target."""


class Fetcher:
    """Makes parcels out of parts of map outputs, from several sources at once, in threads.

    Orders for one source are done in their order. `done` hears of each from some thread: None
    when the parcel lies whole at its target, else why nothing of it does.
    """

    def __init__(
        self,
        folders: Folders,
        secret: bytes | None,
        done: Callable[[int, str | None], None],
        forgotten: Container[str] = (),
    ) -> None:
        self.folders = folders
        self.secret = secret
        self.done = done
        # Names that were dropped; who drops one removes its file after it is in here.
        self.forgotten = forgotten
        # The orders of each source that has some or is being served, and the sources whose turn
        # it is: those that have some and that nobody serves.
        self.waiting: dict[Address | None, deque[FetchOrder]] = {}
        self.ready: deque[Address | None] = deque()
        self.changed = threading.Condition()
        self.threads: list[threading.Thread] = []
        self.clients: list[BlockClient] = []
        self.closed = False

    def fetch(self, order: FetchOrder) -> None:
        """Makes the parcel when the orders before it for its source are done; returns at once."""
        with self.changed:
            if order.address not in self.waiting:
                self.waiting[order.address] = deque()
                self.ready.append(order.address)
            self.waiting[order.address].append(order)
            self.changed.notify()
            if len(self.threads) < min(len(self.waiting), MOST_THREADS):
                thread = threading.Thread(target=self._run, name="fetcher", daemon=True)
                self.threads.append(thread)
                thread.start()

    def close(self) -> None:
        """Ends; nothing more is said of the orders that are not done, nor left of their parcels."""
        with self.changed:
            self.closed = True
            self.changed.notify_all()
        for client in self.clients:
            client.hang_up()
        # A disk that hangs must not hold up who closes.
        end_s = time.monotonic() + CLOSE_S
        for thread in self.threads:
            thread.join(max(0.0, end_s - time.monotonic()))

    def _run(self) -> None:
        puller = Puller(self)
        while (order := self._next()) is not None:
            reason = self._try(puller, order)
            if self.closed:
                break
            self.done(order.id, reason)
            self._pass_on(order.address)
        puller.close()

    def _next(self) -> FetchOrder | None:
        with self.changed:
            self.changed.wait_for(lambda: self.ready or self.closed)
            return None if self.closed else self.waiting[self.ready.popleft()].popleft()

    def _pass_on(self, address: Address | None) -> None:
        """Whoever is free serves the source next, after the others whose turn it is."""
        with self.changed:
            if self.waiting[address]:
                self.ready.append(address)
                self.changed.notify()
            else:
                del self.waiting[address]

    def _try(self, puller: Puller, order: FetchOrder) -> str | None:
        """Why the order can't be done, if it can't."""
        try:
            puller.pull(order)
        except PeerLost as error:
            self._give_up(order.address, str(error))
            return str(error)
        except Exception as error:
            # Whatever one order brings about, the others are done.
            return str(error) or repr(error)
        return None

    def _give_up(self, address: Address | None, reason: str) -> None:
        """Who waits for a node that is lost would hold up the others, each for a timeout."""
        with self.changed:
            if self.closed:
                return
            in_vain = list(self.waiting[address])
            self.waiting[address].clear()
        for order in in_vain:
            self.done(order.id, reason)

    def meet(self, client: BlockClient) -> None:
        """A thread's client, which breaks off when this is closed."""
        with self.changed:
            self.clients.append(client)
            if self.closed:
                # Who closed may have looked for clients before there was this one.
                raise NotFetched("the fetcher was closed")


class Puller:
    """Makes one parcel after another, for one thread."""

    def __init__(self, fetcher: Fetcher) -> None:
        self.fetcher = fetcher
        self.folders = fetcher.folders
        self.client: BlockClient | None = None

    def close(self) -> None:
        if self.client is not None:
            self.client.close()

    def pull(self, order: FetchOrder) -> None:
        """Raises where nothing lies at the target after all."""
        if order.target in self.fetcher.forgotten:
            raise NotFetched(f"segment {order.target} was dropped before it was made")
        if directory_bytes(len(order.maps)) > order.size_bytes:
            raise _too_small(order)
        path = self.folders.path(order.target)
        try:
            target = os.open(path, _MAKE, 0o600)
        except FileExistsError:
            raise NotFetched(f"a segment {order.target} was made by somebody else") from None
        except OSError as error:
            raise _no_room(path, error) from None
        try:
            try:
                self._make(target, path, order)
                is_there = os.fstat(target).st_nlink > 0
            finally:
                os.close(target)
            # Looked up when it is made: whoever drops it from now on finds it and removes it.
            if not is_there or order.target in self.fetcher.forgotten:
                raise _dropped(order)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            raise

    def _make(self, target: int, path: str, order: FetchOrder) -> None:
        try:
            # All of its pages, now: one that can't be had when the map is written to would be a
            # signal instead of an error.
            os.posix_fallocate(target, 0, order.size_bytes)
        except OSError as error:
            raise _no_room(path, error) from None
        # The map goes with its last view.
        packing = Packing(memoryview(mmap.mmap(target, order.size_bytes)), order)
        while len(packing.entries) < len(order.maps):
            if self.fetcher.closed:
                raise NotFetched("the fetcher was closed")
            if order.target in self.fetcher.forgotten:
                raise _dropped(order)
            self._pull_some(packing, order)
        os.ftruncate(target, packing.finish())

    def _pull_some(self, packing: Packing, order: FetchOrder) -> None:
        """Lays the selections of one or more of the next map outputs into the parcel."""
        wanted = order.blocks[len(packing.entries) :]
        if order.address is None:
            with OwnOutput(self.folders, wanted[0], lambda: self.fetcher.closed) as own:
                packing.add(own.select(order, packing.room))
            return
        client = self._know_client()
        if order.size_bytes > len(order.maps) * SMALL_BYTES:
            packing.add(client.gather_into(order.address, wanted[0], order.parts, packing.room))
            return
        # A copy of what is small costs less than a round trip for each.
        for selection in client.gather(order.address, wanted, order.parts, BATCH_BYTES):
            if isinstance(selection, BlockGone):
                raise NotFetched(str(selection))
            packing.lay(selection)

    def _know_client(self) -> BlockClient:
        from pyrite.remote.client import BlockClient

        if self.fetcher.secret is None:
            raise NotFetched("this application has no secret that other nodes would ask for")
        if self.client is None:
            self.client = BlockClient(self.fetcher.secret)
            self.client.buffers.kept_bytes = KEPT_BYTES
            self.fetcher.meet(self.client)
        return self.client


class Packing:
    """A parcel that is being made: selections one behind another, and the directory at last."""

    def __init__(self, parcel: memoryview, order: FetchOrder) -> None:
        self.parcel = parcel
        self.order = order
        self.entries: list[Entry] = []
        self.end = directory_bytes(len(order.maps))

    @property
    def room(self) -> memoryview:
        """Where the next selection begins, and what lies behind."""
        return self.parcel[aligned(self.end) :]

    def add(self, length: int) -> None:
        """The next selection is there, at the start of the room."""
        start = aligned(self.end)
        self.entries.append(Entry(self.order.maps[len(self.entries)], start, length))
        self.end = start + length

    def lay(self, selection: memoryview) -> None:
        """Copies the next selection into its place."""
        if len(selection) > len(self.room):
            raise _too_small(self.order)
        self.room[: len(selection)] = selection
        self.add(len(selection))

    def finish(self) -> int:
        """Writes the directory, last, so that what is not complete can't be read; the length."""
        directory = pack_directory(self.entries)
        self.parcel[: len(directory)] = directory
        return self.end


class OwnOutput:
    """A map output in a file of the own node, which may be cut or removed while it is read."""

    def __init__(self, folders: Folders, block: Stretch, is_closed: Callable[[], bool]) -> None:
        self.segment, self.offset, self.length = block
        self.is_closed = is_closed
        try:
            self.fd = os.open(folders.path(self.segment), _READ)
        except FileNotFoundError:
            raise NotFetched(f"segment {self.segment} is gone") from None

    def __enter__(self) -> OwnOutput:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)

    def select(self, order: FetchOrder, room: memoryview) -> int:
        """Copies the parts, behind the selection's header; how many bytes these are."""
        found = os.fstat(self.fd)
        if not stat.S_ISREG(found.st_mode):
            raise NotFetched(f"{self.segment} is no segment")
        if found.st_size < self.offset + self.length:
            raise self._cut()
        try:
            header, stretches = select(self._read, self.length, order.parts)
        except CorruptBlock as error:
            raise NotFetched(f"segment {self.segment}, offset {self.offset}: {error}") from None
        end = len(header) + sum(size for _, size in stretches)
        if end > len(room):
            raise _too_small(order)
        room[: len(header)] = header
        position = len(header)
        for start, size in joined(stretches):
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
            if self.is_closed():
                raise NotFetched("the fetcher was closed")
            piece = room[position : position + PIECE_BYTES]
            # Not out of a map: the page of a file that was cut is a signal.
            got = os.preadv(self.fd, [piece], self.offset + start + position)
            if not got:
                raise self._cut()
            position += got

    def _cut(self) -> NotFetched:
        return NotFetched(f"segment {self.segment} is shorter than its block")


def joined(stretches: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same bytes in fewer stretches, where one ends where the next begins."""
    found: list[tuple[int, int]] = []
    for start, size in stretches:
        if found and sum(found[-1]) == start:
            found[-1] = found[-1][0], found[-1][1] + size
        elif size:
            found.append((start, size))
    return found


def _dropped(order: FetchOrder) -> NotFetched:
    return NotFetched(f"segment {order.target} was dropped while it was made")


def _too_small(order: FetchOrder) -> NotFetched:
    return NotFetched(
        f"{len(order.parts)} parts of {len(order.maps)} map outputs "
        f"do not fit into segment {order.target} of {order.size_bytes} bytes"
    )


def _no_room(path: str, error: OSError) -> NotFetched:
    return NotFetched(f"{os.path.dirname(path)} did not take it: {error.strerror}")


def unpacked_order(words: Sequence[Any]) -> FetchOrder:
    """The order after a way through JSON, which makes lists of tuples."""
    id, target, size_bytes, address, parts, maps, blocks = words
    lies = tuple(Stretch(*block) for block in blocks)
    return FetchOrder(id, target, size_bytes, unpacked(address), tuple(parts), tuple(maps), lies)
