"""The unsent rest of a block server's reply."""

from __future__ import annotations

import os
import socket
from collections import deque
from collections.abc import Iterable

from pyrite.remote.files import OpenFile
from pyrite.remote.gate import RECORD_BYTES
from pyrite.remote.rate import TokenBucket

# Up to this size header and bytes are sent in one call.
SMALL_BYTES = 64 << 10
# How many ranges of a map are sent in one call.
MOST_VIEWS = 64


class ReplySender:
    """Sends one reply: bytes from memory, then ranges of a file, without copying these."""

    def __init__(self, sock: socket.socket, rate: TokenBucket, is_tls: bool) -> None:
        self.sock = sock
        self.is_unix = sock.family == socket.AF_UNIX
        self.is_tls = is_tls
        self.rate = rate
        self.views: deque[memoryview] = deque()
        self.file: OpenFile | None = None
        self.stretches: deque[tuple[int, int]] = deque()
        # The rest of the range that the kernel sends from the file itself.
        self.position = self.left = 0

    @property
    def is_empty(self) -> bool:
        return not (self.views or self.left or self.stretches)

    def put(
        self,
        heads: Iterable[bytes],
        file: OpenFile | None = None,
        stretches: Iterable[tuple[int, int]] = (),
    ) -> None:
        """Sets the next reply; the one before must be sent."""
        self.views.extend(map(memoryview, heads))
        self.file = file
        self.stretches.extend(stretches)
        if file is not None:
            self._prepare(file)

    def send(self, budget: int) -> int:
        """Sends at most so many bytes, returns how many; BlockingIOError if there's no room."""
        if self.file is not None:
            # Replies without a block are not limited.
            budget = self.rate.grant(budget)
        sent = 0
        while sent < budget and not self.is_empty:
            if self.views:
                count = self._send_views(budget - sent)
            else:
                count = self._send_file(budget - sent)
            self.rate.spend(count)
            sent += count
        return sent

    def clear(self) -> None:
        """Releases the file, whose memory even an empty view would keep."""
        self.views.clear()
        self.stretches.clear()
        self.left, self.file = 0, None

    def _prepare(self, file: OpenFile) -> None:
        """Makes views of the next ranges, up to one that `sendfile` sends faster."""
        read_bytes = 0
        while self.stretches and not self.left and len(self.views) < MOST_VIEWS:
            offset, length = self.stretches[0]
            # Measured for blocks of 1 and 16 MB: through TCP, sending from a map takes half of
            # sendfile's time (which wakes the reader for every 64 KB); through Unix sockets,
            # sendfile wins by a tenth. Disk files are never mapped: their pages would count as
            # memory. Nor is a map read by this process, as it would be for TLS.
            mapped = None if self.is_tls else file.view
            if mapped is not None and (length <= SMALL_BYTES or not self.is_unix):
                self.views.append(mapped[offset : offset + length])
            elif length > SMALL_BYTES:
                self.position, self.left = offset, length
            elif read_bytes + length > SMALL_BYTES:
                return
            else:
                self.views.append(memoryview(read_exactly(file.fd, length, offset)))
                read_bytes += length
            self.stretches.popleft()

    def _send_views(self, most: int) -> int:
        if self.is_tls:
            most = max(most, RECORD_BYTES)
        pieces: list[memoryview] = []
        wanted = 0
        for view in self.views:
            pieces.append(view[: most - wanted])
            wanted += len(pieces[-1])
            if wanted == most:
                break
        more = socket.MSG_MORE if self.left or self.stretches else 0
        count = left = self.sock.sendmsg(pieces, (), more)
        while self.views and left >= len(self.views[0]):
            left -= len(self.views.popleft())
        if left:
            self.views[0] = self.views[0][left:]
        self._go_on()
        return count

    def _send_file(self, most: int) -> int:
        assert self.file is not None
        if self.is_tls:
            wanted = min(self.left, RECORD_BYTES)
            sent = self.sock.send(read_exactly(self.file.fd, wanted, self.position))
        else:
            wanted = min(self.left, most)
            sent = os.sendfile(self.sock.fileno(), self.file.fd, self.position, wanted)
        if sent == 0:
            raise ConnectionAbortedError("the segment became shorter than was promised")
        self.position += sent
        self.left -= sent
        self._go_on()
        return sent

    def _go_on(self) -> None:
        if self.views or self.left:
            return
        if self.stretches:
            assert self.file is not None
            self._prepare(self.file)
        else:
            self.clear()


def read_exactly(fd: int, count: int, offset: int) -> bytes:
    """Reads bytes of a file, not of its map: a truncated file would be a signal there."""
    data = os.pread(fd, count, offset)
    if len(data) < count:
        raise ConnectionAbortedError("the segment became shorter than was promised")
    return data
