"""A client of a ring over sockets: names, and the blocks of files."""

from __future__ import annotations

import errno
import logging
import os
import socket
import time
import uuid
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache, partial
from typing import Any, TypeVar

from pyrite.dht import blockcache
from pyrite.dht.blockcache import BlockCache
from pyrite.dht.blocks import FULL, STORED, BadChecksum, get_chunks, put_block
from pyrite.dht.frames import Call
from pyrite.dht.links import RingLinks, parsed_address
from pyrite.dht.ringfile import RingFile, read_ring
from pyrite.dht.store import CHUNK_BYTES, checksums_of
from pyrite.dht.words import unpack
from pyrite.remote.errors import PeerLost
from pyrite.remote.protocol import Status
from pyrite.ring.client import AskMembers, Pause, RingClient, Steps
from pyrite.ring.errors import RingUnavailable
from pyrite.ring.keys import block_name, key_of
from pyrite.ring.messages import ClientReply, ClientRequest
from pyrite.ring.names import FileBlock, FileMeta
from pyrite.ring.operations import Operations
from pyrite.ring.views import RingMember, RingView

T = TypeVar("T")
THREADS = 8
BLOCK_PATIENCE_S = 30.0
RETRY_S = 0.2


def fresh_id() -> str:
    """A text that is used once."""
    return uuid.uuid4().hex


class DhtClient:
    """Runs the operations of a ring; safe in threads and after forks."""

    def __init__(self, ring: str, file: RingFile | None = None) -> None:
        self.ring = ring
        self._file = file
        self.file = file or read_ring(ring)
        self._start()

    @property
    def block_bytes(self) -> int:
        return self.file.block_bytes

    def run(self, act: Callable[[Operations], Steps[T]]) -> T:
        """Runs one operation on names."""
        self._check_fork()
        client = RingClient(self._addresses(), time.monotonic)
        client.view = self._view
        steps = act(Operations(client, fresh_id, time.time))
        reply: Any = None
        try:
            while True:
                wish = steps.send(reply)
                reply = self._perform(wish)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        finally:
            self._learn(client.view)

    def put(
        self, data: memoryview, file_id: str, index: int, copies: int | None = None
    ) -> FileBlock:
        """Gives a block to all its copies; returns when it is on all their disks.

        Raises OSError (ENOSPC) if a disk is full, and RingUnavailable.
        """
        block = FileBlock(block_name(file_id, index, copies), len(data), checksums_of(data))
        until_s = time.monotonic() + BLOCK_PATIENCE_S
        while True:
            view = self.view()
            holders = view.holders(block.name)
            give = partial(put_block, self.links, view=view.number, block=block, data=data)
            told = self._each(give, holders)
            if all(reply == STORED for reply in told):
                return block
            if FULL in told:
                self.drop([block])
                raise OSError(errno.ENOSPC, f"a disk of the ring {self.ring} is full", block.name)
            if time.monotonic() > until_s:
                where = ", ".join(member.address for member in holders)
                raise RingUnavailable(f"not all of {where} take a block: see `pyrite ring status`")
            time.sleep(RETRY_S)
            self.refresh()

    def read(self, file: FileMeta, start: int, end: int) -> bytearray:
        """Bytes of a file, its blocks in parallel; raises RingUnavailable."""
        end = min(end, file.size)
        result = bytearray(max(0, end - start))
        target = memoryview(result)
        pieces, at = [], 0
        for block in file.blocks:
            low, high = max(start, at), min(end, at + block.length)
            if low < high:
                pieces.append((block, low - at, target[low - start : high - start]))
            at += block.length
        if blockcache.current is not None:
            pieces = [each for each in pieces if not self._copy_held(*each)]
        if len(pieces) == 1:
            self._read_piece(*pieces[0])
        else:
            self._check_fork()
            for done in [self._pool.submit(self._read_piece, *piece) for piece in pieces]:
                done.result()
        return result

    def held(self, file: FileMeta, start: int, end: int) -> memoryview | None:
        """Bytes of one block that the running task has in its node's memory, without a copy."""
        if blockcache.current is None:
            return None
        at = 0
        for block in file.blocks:
            if at <= start < end <= at + block.length:
                return self._held(block, start - at, end - start)
            at += block.length
        return None

    def drop(self, blocks: Sequence[FileBlock]) -> None:
        """Removes blocks that no file has, as far as their holders answer."""
        self.drop_names([block.name for block in blocks])

    def drop_names(self, names: Sequence[str]) -> None:
        view = self.view()
        for name in names:
            for member in view.holders(name):
                self._ask(member.address, Call.DROP, name)

    def check(self, block: FileBlock, repairs: bool = True) -> list[tuple[RingMember, bool | None]]:
        """For each copy of a block whether it is good; None if its member does not answer.

        With `repairs` a member that has no good copy gets one from another.
        """
        copies = self.view().holders(block.name)
        words = block.name, repairs
        return [(each, self._ask(each.address, Call.CHECK, words)) for each in copies]

    def statuses(self) -> tuple[RingView, list[dict[str, Any] | None]]:
        """What each member of the last view says of itself."""
        view = self.refresh()
        return view, [self._ask(each.address, Call.STATUS, None) for each in view.members]

    def view(self) -> RingView:
        return self._view or self.refresh()

    def refresh(self) -> RingView:
        """The newest view that anybody tells of."""
        return self.run(lambda names: names.client.refresh())

    def submit(self, do: Callable[..., T], *args: Any) -> Future[T]:
        """Does something in another thread."""
        self._check_fork()
        return self._pool.submit(do, *args)

    def close(self) -> None:
        self.links.close()
        self._pool.shutdown(wait=False)
        self._asking.shutdown(wait=False)

    def _start(self) -> None:
        self._pid = os.getpid()
        self.links = RingLinks(self.file.secret)
        self._pool = ThreadPoolExecutor(THREADS, f"ring {self.ring}")
        self._asking = ThreadPoolExecutor(THREADS, f"ring {self.ring} asks")
        self._view: RingView | None = None

    def _check_fork(self) -> None:
        if self._pid != os.getpid():
            # Threads do not survive a fork, and connections belong to the parent.
            self._start()

    def _addresses(self) -> list[str]:
        return self.file.addresses

    def _learn(self, view: RingView | None) -> None:
        if view is not None and (self._view is None or self._view.number < view.number):
            self._view = view

    def _perform(self, wish: AskMembers | Pause) -> list[ClientReply | None] | None:
        if isinstance(wish, Pause):
            time.sleep(wish.seconds)
            if self._file is None:
                # Members that came since are in the file.
                self.file = read_ring(self.ring)
            return None
        asks: list[tuple[str, ClientRequest]] = wish.requests
        if len(asks) == 1:
            return [self._ask(asks[0][0], Call.ASK, asks[0][1])]
        return list(self._asking.map(lambda ask: self._ask(ask[0], Call.ASK, ask[1]), asks))

    def _ask(self, address: str, call: Call, words: object) -> Any:
        self._check_fork()
        try:
            status, reply = self.links.ask(address, call, words)
        except (PeerLost, OSError):
            return None
        return unpack(reply) if status is Status.OK else None

    def _each(self, do: Callable[[RingMember], T], members: Sequence[RingMember]) -> list[T | None]:
        def attempt(member: RingMember) -> T | None:
            try:
                return do(member)
            except (PeerLost, OSError):
                self.links.forget(member.address)
                return None

        self._check_fork()
        return list(self._asking.map(attempt, members))

    def _copy_held(self, block: FileBlock, offset: int, target: memoryview) -> bool:
        found = self._held(block, offset, len(target))
        if found is None:
            return False
        target[:] = found
        return True

    def _held(self, block: FileBlock, offset: int, length: int) -> memoryview | None:
        """A stretch of the running task's block in its node's memory, where the whole block stays;
        None if it can't be there."""
        cache, key = blockcache.current, key_of(block.name)
        if cache is None or not cache.wants(key):
            return None
        found = cache.find(key)
        if found is not None and not self._is_good(cache, key, block, found, offset, length):
            logging.getLogger(__name__).warning("block %s is spoilt in memory", block.name)
            cache.lose(key)
            found = None
        if found is None:
            found = cache.fill(key, block.length, partial(self._read_piece, block, 0))
        return None if found is None else found[offset : offset + length]

    @staticmethod
    def _is_good(
        cache: BlockCache, key: int, block: FileBlock, found: memoryview, offset: int, length: int
    ) -> bool:
        """Whether the chunks that are read are as they were written."""
        if len(found) != block.length:
            return False
        for chunk in range(offset // CHUNK_BYTES, -(-(offset + length) // CHUNK_BYTES)):
            start = chunk * CHUNK_BYTES
            if cache.is_checked(key, chunk):
                continue
            if zlib.crc32(found[start : start + CHUNK_BYTES]) != block.checksums[chunk]:
                return False
        return True

    def _read_piece(self, block: FileBlock, offset: int, target: memoryview) -> None:
        """Reads a stretch of a block by whole chunks, the nearest good copy first."""
        first = offset // CHUNK_BYTES
        last = min(block.length, -(-(offset + len(target)) // CHUNK_BYTES) * CHUNK_BYTES)
        is_exact = first * CHUNK_BYTES == offset and last == offset + len(target)
        room = target if is_exact else memoryview(bytearray(last - first * CHUNK_BYTES))
        until_s = time.monotonic() + BLOCK_PATIENCE_S
        while not self._read_chunks(block, first, room):
            if time.monotonic() > until_s:
                raise RingUnavailable(
                    f"no member has a good copy of block {block.name}: see `pyrite ring status`"
                )
            time.sleep(RETRY_S)
            self.refresh()
        if not is_exact:
            skip = offset - first * CHUNK_BYTES
            target[:] = room[skip : skip + len(target)]

    def _read_chunks(self, block: FileBlock, first: int, room: memoryview) -> bool:
        view = self.view()
        copies = view.holders(block.name)
        others = [each for each in view.members if each not in copies]
        for member in [*sorted(copies, key=distance), *others]:
            try:
                if get_chunks(self.links, member.address, block, first, room):
                    return True
            except BadChecksum as error:
                logging.getLogger(__name__).warning("%s is spoilt, and is being repaired", error)
                self._ask(member.address, Call.CHECK, (block.name, True))
            except (PeerLost, OSError):
                self.links.forget(member.address)
        return False


def distance(member: RingMember) -> bool:
    """False, which is less, for a member on this machine."""
    return not is_here(parsed_address(member.address)[0])


@lru_cache
def is_here(host: str) -> bool:
    """Whether a host is this machine: only its own addresses can be bound.

    >>> is_here("127.0.0.1"), is_here("192.0.2.1")
    (True, False)
    """
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_DGRAM)
        family, kind, _, _, address = found[0]
        with socket.socket(family, kind) as probe:
            probe.bind(address)
    except OSError:
        return False
    return True
