"""Moving whole segments: to another node's memory or disk, or to the own node's disk.

R3S 3.2: what is evicted goes to the node with the most room, else to its owner's disk. Where it
goes is decided elsewhere; here its bytes go.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import stat
import threading
from collections import deque
from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any, NamedTuple

from pyrite.blocks.pool import MEMORY_PREFIX
from pyrite.blocks.segments import Folders
from pyrite.remote.errors import Address, PeerLost

if TYPE_CHECKING:
    from pyrite.remote.client import BlockClient

# Between two pieces a copy can be abandoned.
PIECE_BYTES = 4 << 20
CLOSE_S = 5.0
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_MAKE = os.O_WRONLY | os.O_CLOEXEC | os.O_CREAT | os.O_EXCL


class MoveOrder(NamedTuple):
    """A segment, and under which name it shall lie where; without an address on the own node."""

    id: int
    segment: str
    target: str
    address: Address | None


class NotMoved(Exception):
    """Why a segment does not lie at its target."""


class Mover:
    """Copies a node's segments to where they are wanted, one after another, in its own thread.

    `done` hears of each order from that thread: None when the segment lies whole at its target,
    else why nothing of it does. The segment itself stays until somebody removes it.
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
        self.waiting: deque[MoveOrder] = deque()
        self.changed = threading.Condition()
        self.thread: threading.Thread | None = None
        self.client: BlockClient | None = None
        self.closed = False

    def move(self, order: MoveOrder) -> None:
        """Copies the segment when the orders before it are done; returns at once."""
        with self.changed:
            self.waiting.append(order)
            self.changed.notify()
            if self.thread is None:
                self.thread = threading.Thread(target=self._run, name="mover", daemon=True)
                self.thread.start()

    def close(self) -> None:
        """Ends; nothing more is said of the orders that are not done, nor left of their copies."""
        with self.changed:
            self.closed = True
            self.changed.notify()
        if self.client is not None:
            self.client.hang_up()
        if self.thread is not None:
            # A disk that hangs must not hold up who closes.
            self.thread.join(CLOSE_S)

    def _run(self) -> None:
        while (order := self._next()) is not None:
            reason = self._try(order)
            if self.closed:
                break
            self.done(order.id, reason)
        if self.client is not None:
            self.client.close()

    def _next(self) -> MoveOrder | None:
        with self.changed:
            self.changed.wait_for(lambda: self.waiting or self.closed)
            return None if self.closed else self.waiting.popleft()

    def _try(self, order: MoveOrder) -> str | None:
        """Why the order can't be done, if it can't."""
        try:
            self._move(order)
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
            in_vain = [order for order in self.waiting if order.address == address]
            self.waiting = deque(order for order in self.waiting if order.address != address)
        for order in in_vain:
            self.done(order.id, reason)

    def _move(self, order: MoveOrder) -> None:
        if order.target in self.forgotten:
            raise NotMoved(f"segment {order.target} was dropped before it was made")
        source = self._open(order.segment)
        try:
            size = os.fstat(source).st_size
            is_memory = order.segment.startswith(MEMORY_PREFIX)
            filled = filled_bytes(source, size) if is_memory else size
            if order.address is None:
                self._copy(source, filled, size, order)
            else:
                self._send(source, filled, size, order)
        finally:
            os.close(source)

    def _open(self, segment: str) -> int:
        try:
            fd = os.open(self.folders.path(segment), _READ)
        except FileNotFoundError:
            raise NotMoved(f"segment {segment} is gone") from None
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise NotMoved(f"{segment} is no segment")
        return fd

    def _send(self, source: int, filled: int, size: int, order: MoveOrder) -> None:
        assert order.address is not None
        # Only the kernel reads the map: a file that is cut is an error to it, no signal. The
        # map goes with its last view.
        data: Any = mmap.mmap(source, filled, prot=mmap.PROT_READ) if filled else b""
        # One block, however large: the other side keeps all of it or nothing.
        self._know_client().write(order.address, order.target, 0, [data], size)

    def _know_client(self) -> BlockClient:
        from pyrite.remote.client import BlockClient

        if self.secret is None:
            raise NotMoved("this application has no secret that other nodes would ask for")
        with self.changed:
            if self.client is None:
                self.client = BlockClient(self.secret)
            if self.closed:
                # Who closed may have looked for a client before there was one.
                raise NotMoved("the mover was closed")
        return self.client

    def _copy(self, source: int, filled: int, size: int, order: MoveOrder) -> None:
        path = self.folders.path(order.target)
        try:
            target = os.open(path, _MAKE, 0o600)
        except FileExistsError:
            raise NotMoved(f"a segment {order.target} was made by somebody else") from None
        try:
            try:
                self._fill(target, source, filled, order)
                os.ftruncate(target, size)
                is_there = os.fstat(target).st_nlink > 0
            finally:
                os.close(target)
            # Looked up when it is made: whoever drops it from now on finds it and removes it.
            if not is_there or order.target in self.forgotten:
                raise NotMoved(f"segment {order.target} was dropped while it was made")
        except BaseException as error:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            if isinstance(error, OSError):
                folder = os.path.dirname(path)
                raise NotMoved(f"{folder} did not take it: {error.strerror}") from None
            raise

    def _fill(self, target: int, source: int, filled: int, order: MoveOrder) -> None:
        position = 0
        while position < filled:
            if self.closed:
                raise NotMoved("the mover was closed")
            sent = os.sendfile(target, source, position, min(PIECE_BYTES, filled - position))
            if sent == 0:
                raise NotMoved(f"segment {order.segment} became shorter while it was copied")
            position += sent


def filled_bytes(fd: int, size: int) -> int:
    """Where the last bytes end that were ever written: a segment that is not full ends in a hole.

    A map would fill such a hole with new memory, just when there is none to spare.
    """
    end = 0
    try:
        while end < size:
            end = os.lseek(fd, os.lseek(fd, end, os.SEEK_DATA), os.SEEK_HOLE)
    except OSError as error:
        # ENXIO: there is a hole up to the end. All else: a file system that does not know.
        return end if error.errno == errno.ENXIO else size
    return min(end, size)
