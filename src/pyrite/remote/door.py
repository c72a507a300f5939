"""A loop's listening socket, and the clients that are not authenticated yet."""

from __future__ import annotations

import select
import socket

# How long to wait after a failed accept, as when descriptors have run out.
REST_S = 1.0


class Door:
    """Accepts clients, and limits how many may be unauthenticated, and for how long."""

    def __init__(self, poll: select.epoll, most_proving: int, proving_s: float) -> None:
        self.poll = poll
        self.most_proving = most_proving
        self.proving_s = proving_s
        self.listener: socket.socket | None = None
        # The arrival of each unauthenticated client, by its descriptor, the oldest first.
        self.proving: dict[int, float] = {}
        self.rests_until_s: float | None = None

    def open(self, listener: socket.socket) -> None:
        """Listens from now on."""
        listener.setblocking(False)
        self.listener = listener
        self.poll.register(listener, select.EPOLLIN)

    def fileno(self) -> int:
        return -1 if self.listener is None else self.listener.fileno()

    @property
    def rests(self) -> bool:
        """Whether it accepts nobody for a while."""
        return self.rests_until_s is not None

    def accept(self, now_s: float) -> socket.socket | None:
        """Returns the next client, which must authenticate itself; None if none can be accepted."""
        assert self.listener is not None, "open comes first"
        try:
            sock, _ = self.listener.accept()
        except BlockingIOError:
            return None
        except OSError:
            # The poll would report the waiting client again and again.
            self.poll.unregister(self.listener)
            self.rests_until_s = now_s + REST_S
            return None
        self.proving[sock.fileno()] = now_s
        return sock

    def dismiss(self, fd: int) -> bool:
        """Forgets a client that is authenticated or lost; returns whether it was listed."""
        return self.proving.pop(fd, None) is not None

    def listen(self) -> None:
        """Ends a pause, if there is one."""
        if self.rests:
            self.poll.register(self.fileno(), select.EPOLLIN)
            self.rests_until_s = None

    def tend(self, now_s: float) -> list[int]:
        """Ends a pause that is over; returns the unauthenticated clients to close.

        These are the ones that take too long, and the oldest of too many, since an honest client
        takes only a millisecond.
        """
        if self.rests_until_s is not None and self.rests_until_s <= now_s:
            self.listen()
        too_many = len(self.proving) - self.most_proving
        return [
            fd
            for place, (fd, came_s) in enumerate(self.proving.items())
            if place < too_many or came_s + self.proving_s <= now_s
        ]

    def next_s(self) -> float | None:
        """When `tend` is due, if no client comes."""
        ends = [came_s + self.proving_s for came_s in self.proving.values()]
        if self.rests_until_s is not None:
            ends.append(self.rests_until_s)
        return min(ends, default=None)

    def close(self) -> bool:
        """Stops listening; returns whether it listened."""
        if self.listener is None:
            return False
        self.listener.close()
        return True
