"""Where clients come in: a loop's listening socket, and those who have not proved themselves."""

from __future__ import annotations

import select
import socket

# Where nobody can be let in, as without descriptors, it is tried again after so long.
REST_S = 1.0


class Door:
    """Lets clients in one by one; few may be proving themselves at a time, and none for long."""

    def __init__(self, poll: select.epoll, most_proving: int, proving_s: float) -> None:
        self.poll = poll
        self.most_proving = most_proving
        self.proving_s = proving_s
        self.listener: socket.socket | None = None
        # When each newcomer came, by its descriptor, the oldest first.
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
        """Whether nobody can be let in for a while."""
        return self.rests_until_s is not None

    def accept(self, now_s: float) -> socket.socket | None:
        """The next client, which has to prove itself from now on; None where none can be let in."""
        assert self.listener is not None, "open comes first"
        try:
            sock, _ = self.listener.accept()
        except BlockingIOError:
            return None
        except OSError:
            # The poll would say without end that somebody waits.
            self.poll.unregister(self.listener)
            self.rests_until_s = now_s + REST_S
            return None
        self.proving[sock.fileno()] = now_s
        return sock

    def dismiss(self, fd: int) -> bool:
        """This client has proved itself, or gone; whether it was a newcomer until now."""
        return self.proving.pop(fd, None) is not None

    def listen(self) -> None:
        """Ends a rest, where there is one."""
        if self.rests:
            self.poll.register(self.fileno(), select.EPOLLIN)
            self.rests_until_s = None

    def tend(self, now_s: float) -> list[int]:
        """Ends a rest that is over; gives the newcomers that are to be sent away.

        The oldest of too many are, since an honest client is through within a millisecond,
        and those that take too long.
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
        """When it is to be tended next, if nobody comes."""
        ends = [came_s + self.proving_s for came_s in self.proving.values()]
        if self.rests_until_s is not None:
            ends.append(self.rests_until_s)
        return min(ends, default=None)

    def close(self) -> bool:
        """Listens no more; whether it did."""
        if self.listener is None:
            return False
        self.listener.close()
        return True
