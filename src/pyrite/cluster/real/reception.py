"""The driver's door for agents: accepts connections, and lets in who knows secret and ticket."""

from __future__ import annotations

import select
import socket
from typing import NamedTuple

from pyrite.cluster.node.meeting import ANSWER_BYTES, check_answer, greeting
from pyrite.remote.door import Door
from pyrite.remote.errors import family_of
from pyrite.remote.gate import own_gate

BACKLOG = 1024
MOST_PROVING = 256
PROVING_S = 15.0


class Arrival(NamedTuple):
    """An agent that has proved who it is."""

    ticket: str
    versions: bytes
    sock: socket.socket


class Guest:
    """Who has connected: the greeting for it, and what has arrived of its answer."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.greeting = greeting()
        self.has_greeted = False
        self.answer = bytearray()

    def greet(self) -> None:
        """Sends the greeting, once."""
        if not self.has_greeted:
            self.sock.send(self.greeting)
            self.has_greeted = True


class Reception:
    """Non-blocking handshakes with all that connect."""

    def __init__(self, secret: bytes, address: tuple[str, int], poll: select.epoll) -> None:
        self.secret = secret
        self.poll = poll
        self.gate = own_gate()
        self.door = Door(poll, MOST_PROVING, PROVING_S)
        listener = socket.create_server(address, family=family_of(address), backlog=BACKLOG)
        self.address: tuple[str, int] = listener.getsockname()[:2]
        self.door.open(listener)
        self.guests: dict[int, Guest] = {}

    def owns(self, fd: int) -> bool:
        return fd == self.door.fileno() or fd in self.guests

    def receive(self, fd: int, now_s: float) -> Arrival | None:
        """Goes on with a handshake; returns an agent that is let in."""
        if fd == self.door.fileno():
            self._accept(now_s)
            return None
        guest = self.guests[fd]
        try:
            guest.greet()
            data = guest.sock.recv(ANSWER_BYTES - len(guest.answer))
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        guest.answer += data
        if not data:
            self._dismiss(fd)
            return None
        return self._check(fd) if len(guest.answer) == ANSWER_BYTES else None

    def _accept(self, now_s: float) -> None:
        sock = self.door.accept(now_s)
        if sock is None:
            return
        fd = sock.fileno()
        sock.setblocking(False)
        try:
            guest = Guest(sock if self.gate is None else self.gate.welcome(sock))
        except OSError:
            self.door.dismiss(fd)
            return
        self.guests[fd] = guest
        self.poll.register(guest.sock, select.EPOLLIN)
        try:
            guest.greet()
        except BlockingIOError:
            # Its certificate comes first.
            pass
        except OSError:
            self._dismiss(fd)

    def _check(self, fd: int) -> Arrival | None:
        guest = self.guests[fd]
        sock = guest.sock
        checked = check_answer(self.secret, guest.greeting, bytes(guest.answer))
        if checked is None:
            self._dismiss(fd)
            return None
        ticket, versions, proof = checked
        try:
            sock.send(proof)
        except OSError:
            self._dismiss(fd)
            return None
        del self.guests[fd]
        self.door.dismiss(fd)
        self.poll.unregister(sock)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return Arrival(ticket, versions, sock)

    def _dismiss(self, fd: int) -> None:
        self.door.dismiss(fd)
        self.guests.pop(fd).sock.close()

    def tend(self, now_s: float) -> None:
        """Dismisses who takes too long."""
        for fd in self.door.tend(now_s):
            self._dismiss(fd)

    def next_s(self) -> float | None:
        return self.door.next_s()

    def close(self) -> None:
        for fd in list(self.guests):
            self._dismiss(fd)
        self.door.close()
