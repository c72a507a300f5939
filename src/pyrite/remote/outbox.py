"""The unsent data of a non-blocking socket."""

from __future__ import annotations

import contextlib
import select
import socket
from collections import deque


class Outbox:
    """A queue of bytes; sends as many as the socket has room for.

    A socket may be passed with some of the bytes to the other process. If there is a poll, it also
    wakes when the socket has room again, while something is left to send.
    """

    def __init__(self, sock: socket.socket, poll: select.epoll | None = None) -> None:
        self.sock = sock
        self.poll = poll
        self.waits = False
        self._unsent: deque[tuple[bytearray, socket.socket | None]] = deque()

    def __len__(self) -> int:
        """The number of unsent bytes."""
        return sum(len(data) for data, _ in self._unsent)

    def __bool__(self) -> bool:
        return bool(self._unsent)

    def add(self, data: bytes, passed: socket.socket | None = None) -> None:
        """Adds bytes, and the socket that is passed with them; `flush` sends them."""
        if passed is None and self._unsent and self._unsent[-1][1] is None:
            self._unsent[-1][0].extend(data)
        else:
            self._unsent.append((bytearray(data), passed))

    def send(self, data: bytes, passed: socket.socket | None = None) -> None:
        """Adds the data and sends as much of the queue as there is room for."""
        self.add(data, passed)
        self.flush()

    def flush(self) -> None:
        """Sends as much as there is room for."""
        try:
            while self._unsent:
                self._send_first()
        except BlockingIOError:
            pass
        except OSError:
            # The next read will find that the other side has closed.
            self._drop_all()
        self._watch_for_room()

    def _send_first(self) -> None:
        data, passed = self._unsent[0]
        if passed is None:
            del data[: self.sock.send(data)]
        else:
            # The socket is passed with the first bytes, however many are sent.
            del data[: socket.send_fds(self.sock, [data], [passed.fileno()])]
            passed.close()
            self._unsent[0] = data, None
        if not data:
            self._unsent.popleft()

    def _watch_for_room(self) -> None:
        if self.poll is not None and self.waits != bool(self._unsent):
            self.waits = bool(self._unsent)
            # The socket may be closed, which removes it from the poll.
            with contextlib.suppress(OSError, ValueError):
                room = select.EPOLLOUT if self.waits else 0
                self.poll.modify(self.sock, select.EPOLLIN | room)

    def clear(self) -> None:
        """Drops all unsent data."""
        self._drop_all()
        self._watch_for_room()

    def _drop_all(self) -> None:
        while self._unsent:
            _, passed = self._unsent.popleft()
            if passed is not None:
                passed.close()
