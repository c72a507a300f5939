"""The desk of an exchange: hears its guests, asks the book, and does what the book says."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterable
from itertools import islice
from typing import Any, NamedTuple

from pyrite.blocks.segments import Folders, remove_segments
from pyrite.exchange.book import Answer, Book, Command, Remove
from pyrite.exchange.guest import Guest
from pyrite.remote.process import ServerProcess
from pyrite.remote.server import Limits

BACKLOG = 128
HANDSHAKE_S = 5.0
# An honest client is through within a millisecond: more than these are not.
MOST_HANDSHAKES = 64


class Options(NamedTuple):
    """What an exchange is opened with."""

    memory_bytes: int
    segment_bytes: int
    local_dir: str
    host: str
    direct: bool


class Desk:
    """Serves the book to who knows the secret, until the control socket closes."""

    def __init__(self, options: Options, folders: Folders, secret: bytes) -> None:
        self.options = options
        self.folders = folders
        self.secret = secret
        self.book = Book(options.memory_bytes)
        self.guests: dict[int, Guest] = {}
        # Those that have not proved themselves, the oldest first, and the others by their names.
        self.proving: dict[int, Guest] = {}
        self.trusted: dict[str, Guest] = {}
        self.next_guest = 0
        self.waits_to_send: set[int] = set()
        self.listener = socket.create_server((options.host, 0), backlog=BACKLOG)
        self.listener.setblocking(False)
        self.address: tuple[str, int] = self.listener.getsockname()[:2]
        self.poll = select.epoll()
        self.is_listening = False
        self._listen()
        self._start_server()

    def _start_server(self) -> None:
        limits = Limits(segment_bytes=max(self.options.memory_bytes, self.options.segment_bytes))
        address = (self.options.host, 0)
        self.server = ServerProcess.start(self.folders, self.secret, address, limits)
        self.poll.register(self.server.control, select.EPOLLIN)

    def serve(self, control: socket.socket) -> None:
        """Answers until the owner closes the other end of the control socket, or has gone."""
        self.poll.register(control, select.EPOLLIN)
        while True:
            events = self.poll.poll(self._patience_s())
            now_s = time.monotonic()
            for fd, _ in events:
                guest = self.guests.get(fd)
                if guest is not None:
                    self._hear(guest, now_s)
                elif fd == self.listener.fileno():
                    self._accept(now_s)
                elif fd == control.fileno():
                    return
                elif fd == self.server.control.fileno():
                    self._hear_server()
            self._perform(self.book.expire(now_s))
            self._end_handshakes(now_s)

    def close(self) -> None:
        """Sends everybody away and ends the block server."""
        for guest in self.guests.values():
            guest.sock.close()
        self.listener.close()
        self.server.stop()
        self.poll.close()

    def _patience_s(self) -> float:
        ends = [each.came_s + HANDSHAKE_S for each in islice(self.proving.values(), 1)]
        expiry_s = self.book.next_expiry_s()
        if expiry_s is not None:
            ends.append(expiry_s)
        return max(0.0, min(ends) - time.monotonic()) if ends else -1

    # Guests

    def _listen(self) -> None:
        if not self.is_listening:
            self.poll.register(self.listener, select.EPOLLIN)
            self.is_listening = True

    def _accept(self, now_s: float) -> None:
        try:
            sock, _ = self.listener.accept()
        except BlockingIOError:
            return
        except OSError:
            # No descriptors: who wants to come in waits until somebody goes.
            self.poll.unregister(self.listener)
            self.is_listening = False
            return
        self.next_guest += 1
        guest = Guest(f"g{self.next_guest}", sock, self.secret, now_s)
        self.guests[sock.fileno()] = self.proving[sock.fileno()] = guest
        self.poll.register(sock, select.EPOLLIN)
        try:
            guest.greet()
        except OSError:
            self._send_away(guest)

    def _hear(self, guest: Guest, now_s: float) -> None:
        try:
            guest.flush()
            words = guest.hear()
            if words is not None:
                self._perform(self._answer(guest, words, now_s))
            if guest.has_proved and self.proving.pop(guest.sock.fileno(), None) is not None:
                self.trusted[guest.name] = guest
        except Exception:
            # Whatever one guest brings about, the others are served.
            self._send_away(guest)
        else:
            self._watch(guest)

    def _answer(self, guest: Guest, words: list[Any], now_s: float) -> list[Command]:
        if words != ["hello"]:
            return self.book.hear(guest.name, words, now_s)
        folders, options = self.folders, self.options
        places = [folders.memory, folders.disk, list(self.server.address)]
        welcome = ["welcome", guest.name, *places, options.segment_bytes, options.direct]
        return [Answer(guest.name, welcome)]

    def _watch(self, guest: Guest) -> None:
        fd = guest.sock.fileno()
        if bool(guest.unsent) != (fd in self.waits_to_send):
            if guest.unsent:
                self.waits_to_send.add(fd)
                self.poll.modify(fd, select.EPOLLIN | select.EPOLLOUT)
            else:
                self.waits_to_send.discard(fd)
                self.poll.modify(fd, select.EPOLLIN)

    def _send_away(self, guest: Guest) -> None:
        fd = guest.sock.fileno()
        del self.guests[fd]
        self.proving.pop(fd, None)
        self.trusted.pop(guest.name, None)
        self.waits_to_send.discard(fd)
        guest.sock.close()
        self._perform(self.book.leave(guest.name))
        self._listen()

    def _end_handshakes(self, now_s: float) -> None:
        for guest in list(self.proving.values()):
            if len(self.proving) <= MOST_HANDSHAKES and now_s - guest.came_s < HANDSHAKE_S:
                break
            self._send_away(guest)

    # What the book says

    def _perform(self, commands: Iterable[Command]) -> None:
        for command in commands:
            match command:
                case Answer(name, words):
                    self._say(name, words)
                case Remove(segments):
                    remove_segments(self.folders, segments)
                    self.server.forget(segments)

    def _say(self, name: str, words: list[Any]) -> None:
        guest = self.trusted.get(name)
        if guest is not None:
            guest.say(words)
            self._watch(guest)

    def _hear_server(self) -> None:
        self.server.hear()
        if self.server.closed:
            # Blocks outlive their server; who comes from now on is told of the new one.
            self.poll.unregister(self.server.control)
            self.server.stop()
            self._start_server()
