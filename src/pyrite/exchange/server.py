"""The desk of an exchange: hears its guests, asks the book, and does what the book says."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterable
from typing import Any

from pyrite.blocks.segments import Folders
from pyrite.exchange.book import Command, GuestId, Remove, SendAnswer, ShuffleBook
from pyrite.exchange.clientconnection import LONGEST_S, ClientConnection
from pyrite.exchange.options import Options
from pyrite.remote.door import Door
from pyrite.remote.process import ServerProcess
from pyrite.remote.server import ServerLimits, remove_what_can_be

BACKLOG = 128
HANDSHAKE_S = 5.0
MOST_HANDSHAKES = 64


class ExchangeServer:
    """Serves the book to who knows the secret, until the control socket closes."""

    def __init__(self, options: Options, folders: Folders, secret: bytes) -> None:
        self.options = options
        self.folders = folders
        self.secret = secret
        self.book = ShuffleBook(options.memory_bytes, options.segment_bytes)
        self.guests: dict[int, ClientConnection] = {}
        # Those that have proved themselves, by their numbers.
        self.trusted: dict[GuestId, ClientConnection] = {}
        self.next_guest = 0
        listener = socket.create_server((options.host, 0), backlog=BACKLOG)
        self.address: tuple[str, int] = listener.getsockname()[:2]
        self.poll = select.epoll()
        self.door = Door(self.poll, MOST_HANDSHAKES, HANDSHAKE_S)
        self.door.open(listener)
        self._start_server()

    def _start_server(self) -> None:
        limits = ServerLimits(segment_bytes=self.options.memory_bytes)
        address = (self.options.host, 0)
        self.server = ServerProcess.start(self.folders, self.secret, address, limits)
        self.poll.register(self.server.poll, select.EPOLLIN)

    def serve(self, control: socket.socket) -> None:
        """Answers until the owner closes the other end of the control socket, or has gone."""
        self.poll.register(control, select.EPOLLIN)
        while True:
            events = self.poll.poll(self._patience_s())
            now_s = time.monotonic()
            for fd, _ in events:
                guest = self.guests.get(fd)
                if guest is not None:
                    self._receive(guest, now_s)
                elif fd == self.door.fileno():
                    self._accept(now_s)
                elif fd == control.fileno():
                    return
                elif fd == self.server.poll.fileno():
                    self._read_server()
            self._perform(self.book.expire(now_s))
            for fd in self.door.tend(now_s):
                self._send_away(self.guests[fd])

    def close(self) -> None:
        """Sends everybody away and ends the block server."""
        for guest in self.guests.values():
            guest.sock.close()
        self.door.close()
        self.server.stop()
        self.poll.close()

    def _patience_s(self) -> float:
        now_s = time.monotonic()
        ends = [self.door.next_s(), self.book.next_expiry_s(), now_s + LONGEST_S]
        return max(0.0, min(each for each in ends if each is not None) - now_s)

    # Guests

    def _accept(self, now_s: float) -> None:
        sock = self.door.accept(now_s)
        if sock is None:
            return
        self.next_guest += 1
        guest = ClientConnection(GuestId(self.next_guest), sock, self.secret, self.poll)
        self.guests[sock.fileno()] = guest
        self.poll.register(sock, select.EPOLLIN)
        try:
            guest.greet()
        except OSError:
            self._send_away(guest)

    def _receive(self, guest: ClientConnection, now_s: float) -> None:
        try:
            guest.outbox.flush()
            words = guest.receive()
            if words is not None:
                self._perform(self._answer(guest, words, now_s))
            if guest.has_proved and self.door.dismiss(guest.sock.fileno()):
                self.trusted[guest.id] = guest
        except Exception:
            # Whatever one guest brings about, the others are served.
            self._send_away(guest)

    def _answer(self, guest: ClientConnection, words: list[Any], now_s: float) -> list[Command]:
        if words != ["hello"]:
            return self.book.handle(guest.id, words, now_s)
        folders, options = self.folders, self.options
        # A guest may come since it has found that the server is gone, before that is heard here.
        self._read_server()
        places = [folders.memory, folders.disk, list(self.server.wait())]
        return [SendAnswer(guest.id, ["welcome", guest.id, *places, options.direct])]

    def _send_away(self, guest: ClientConnection) -> None:
        fd = guest.sock.fileno()
        del self.guests[fd]
        self.door.dismiss(fd)
        self.trusted.pop(guest.id, None)
        guest.sock.close()
        self._perform(self.book.leave(guest.id))
        # There is a descriptor for another.
        self.door.listen()

    # What the book says

    def _perform(self, commands: Iterable[Command]) -> None:
        for command in commands:
            match command:
                case SendAnswer(guest, words):
                    self._send(guest, words)
                case Remove(segments):
                    # Before the answers behind it: who forgets a shuffle has its memory then.
                    remove_what_can_be(self.folders, segments)
                    self.server.forget(segments)

    def _send(self, id: GuestId, words: list[Any]) -> None:
        guest = self.trusted.get(id)
        if guest is not None:
            guest.send(words)

    def _read_server(self) -> None:
        self.server.receive()
        if self.server.closed:
            # Blocks outlive their server; who comes from now on is told of the new one.
            dead = self.server
            self._start_server()
            self.poll.unregister(dead.poll)
            dead.stop()
