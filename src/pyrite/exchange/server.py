"""The server of an exchange: passes clients' requests to the book, and performs its commands."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterable
from typing import Any

from pyrite.blocks.segments import Folders
from pyrite.exchange.book import ClientId, Command, Remove, SendAnswer, ShuffleBook
from pyrite.exchange.clientconnection import LONGEST_S, ClientConnection
from pyrite.exchange.options import Options
from pyrite.remote.door import Door
from pyrite.remote.process import ServerProcess
from pyrite.remote.server import ServerLimits, remove_what_can_be

BACKLOG = 128
HANDSHAKE_S = 5.0
MOST_HANDSHAKES = 64


class ExchangeServer:
    """Serves clients that know the secret, until the control socket closes."""

    def __init__(self, options: Options, folders: Folders, secret: bytes) -> None:
        self.options = options
        self.folders = folders
        self.secret = secret
        self.book = ShuffleBook(options.memory_bytes, options.segment_bytes)
        self.clients: dict[int, ClientConnection] = {}
        # Authenticated clients, by their ids.
        self.trusted: dict[ClientId, ClientConnection] = {}
        self.next_client = 0
        listener = socket.create_server((options.host, 0), backlog=BACKLOG)
        self.address: tuple[str, int] = listener.getsockname()[:2]
        self.poll = select.epoll()
        self.door = Door(self.poll, MOST_HANDSHAKES, HANDSHAKE_S)
        self.door.open(listener)
        self._start_block_server()

    def _start_block_server(self) -> None:
        limits = ServerLimits(segment_bytes=self.options.memory_bytes)
        address = (self.options.host, 0)
        self.block_server = ServerProcess.start(self.folders, self.secret, address, limits)
        self.poll.register(self.block_server.poll, select.EPOLLIN)

    def serve(self, control: socket.socket) -> None:
        """Serves until the owner closes the control socket, or ends."""
        self.poll.register(control, select.EPOLLIN)
        while True:
            events = self.poll.poll(self._patience_s())
            now_s = time.monotonic()
            for fd, _ in events:
                client = self.clients.get(fd)
                if client is not None:
                    self._receive(client, now_s)
                elif fd == self.door.fileno():
                    self._accept(now_s)
                elif fd == control.fileno():
                    return
                elif fd == self.block_server.poll.fileno():
                    self._read_block_server()
            self._perform(self.book.expire(now_s))
            for fd in self.door.tend(now_s):
                self._send_away(self.clients[fd])

    def close(self) -> None:
        """Closes all connections and ends the block server."""
        for client in self.clients.values():
            client.sock.close()
        self.door.close()
        self.block_server.stop()
        self.poll.close()

    def _patience_s(self) -> float:
        now_s = time.monotonic()
        ends = [self.door.next_s(), self.book.next_expiry_s(), now_s + LONGEST_S]
        return max(0.0, min(each for each in ends if each is not None) - now_s)

    # Clients

    def _accept(self, now_s: float) -> None:
        sock = self.door.accept(now_s)
        if sock is None:
            return
        self.next_client += 1
        client = ClientConnection(ClientId(self.next_client), sock, self.secret, self.poll)
        self.clients[sock.fileno()] = client
        self.poll.register(sock, select.EPOLLIN)
        try:
            client.greet()
        except OSError:
            self._send_away(client)

    def _receive(self, client: ClientConnection, now_s: float) -> None:
        try:
            client.outbox.flush()
            message = client.receive()
            if message is not None:
                self._perform(self._answer(client, message, now_s))
            if client.has_proved and self.door.dismiss(client.sock.fileno()):
                self.trusted[client.id] = client
        except Exception:
            # An error of one client must not affect the others.
            self._send_away(client)

    def _answer(self, client: ClientConnection, message: list[Any], now_s: float) -> list[Command]:
        if message != ["hello"]:
            return self.book.handle(client.id, message, now_s)
        folders, options = self.folders, self.options
        # A client may ask because it found the block server lost, before this server knows it.
        self._read_block_server()
        places = [folders.memory, folders.disk, list(self.block_server.wait())]
        return [SendAnswer(client.id, ["welcome", client.id, *places, options.direct])]

    def _send_away(self, client: ClientConnection) -> None:
        fd = client.sock.fileno()
        del self.clients[fd]
        self.door.dismiss(fd)
        self.trusted.pop(client.id, None)
        client.sock.close()
        self._perform(self.book.leave(client.id))
        # A descriptor is free for another client.
        self.door.listen()

    # Commands of the book

    def _perform(self, commands: Iterable[Command]) -> None:
        for command in commands:
            match command:
                case SendAnswer(client, message):
                    self._send(client, message)
                case Remove(segments):
                    # Before the answers that follow: when `forget` returns, the memory is free.
                    remove_what_can_be(self.folders, segments)
                    self.block_server.forget(segments)

    def _send(self, id: ClientId, message: list[Any]) -> None:
        client = self.trusted.get(id)
        if client is not None:
            client.send(message)

    def _read_block_server(self) -> None:
        self.block_server.receive()
        if self.block_server.closed:
            # Blocks outlive their block server; new clients get the address of the next one.
            dead = self.block_server
            self._start_block_server()
            self.poll.unregister(dead.poll)
            dead.stop()
