"""A client's connection to an exchange's server, and the blocks that are written through it."""

from __future__ import annotations

import atexit
import contextlib
import json
import math
import os
import select
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import Any, TypeVar

from pyrite.blocks.segments import Folders
from pyrite.blocks.writer import BlockNotWritten
from pyrite.errors import PyriteError
from pyrite.exchange import errors
from pyrite.exchange.book import NODE, ClientId
from pyrite.exchange.clientconnection import LENGTH, LONGEST_S, pack
from pyrite.exchange.forks import not_in_children
from pyrite.exchange.outputs import PartRef
from pyrite.exchange.writer import OutputWriter
from pyrite.ids import BlockRef, NodeId
from pyrite.remote.client import BlockClient
from pyrite.remote.errors import BlockGone, BlockRefused, PeerLost, shown
from pyrite.remote.link import Broken, PeerLink
from pyrite.remote.neighbours import Neighbours

ELSEWHERE = NodeId("elsewhere")
# How long the server may take to answer a request that does not wait for maps.
ANSWER_S = 60.0
REFUSALS: dict[str, type[PyriteError]] = {
    each.__name__: each for each in (errors.UnknownShuffle, errors.AlreadyPut, errors.MapsMissing)
}

Place = tuple[tuple[str, int], bytes]
T = TypeVar("T")


class ServerConnection:
    """One connection to an exchange; for one thread at a time."""

    def __init__(self, place: Place) -> None:
        self.place = place
        address, secret = place
        self.link = PeerLink(address, ANSWER_S)
        not_in_children(self)
        # Whether a request is unanswered: the connection can't be reused then.
        self.is_busy = False
        self.neighbours = Neighbours()
        try:
            self.link.connect(secret)
            self.link.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            _, client, memory, disk, block_server, direct = self.ask("hello")
        except BaseException as error:
            self.link.close()
            if isinstance(error, PeerLost):
                raise self._lost(error.reason) from None
            raise
        self.direct = direct and can_enter(memory) and can_enter(disk)
        self.folders = Folders(memory, disk, NODE if self.direct else ELSEWHERE)
        if not self.direct:
            self.neighbours.meet(secret, {NODE: tuple(block_server)})
        self.block_server: tuple[str, int] = tuple(block_server)
        self.writer = OutputWriter(
            self.folders, ClientId(client), self._lease, self._announce, self.neighbours
        )

    def ask(self, *message: Any, wait_s: float | None = 0.0) -> list[Any]:
        """Sends a request and returns the answer; raises the refusal, or ExchangeLost."""
        self.is_busy = True
        try:
            self.link.send([pack(list(message))])
            answer = self._receive(None if wait_s is None else wait_s + ANSWER_S)
        except (Broken, PeerLost, OSError, EOFError) as error:
            raise self._lost(str(error)) from None
        self.is_busy = False
        if answer[0] == "refused":
            raise REFUSALS[answer[1]](*answer[2:])
        return answer

    def _receive(self, timeout_s: float | None) -> list[Any]:
        sock = self.link.sock
        waiter = select.poll()
        waiter.register(sock, select.POLLIN)
        now_s = monotonic()
        end_s = math.inf if timeout_s is None else now_s + timeout_s
        while not waiter.poll(min(end_s - now_s, LONGEST_S) * 1000):
            now_s = monotonic()
            if now_s >= end_s:
                raise TimeoutError("it does not answer")
        (length,) = LENGTH.unpack(receive(sock, LENGTH.size))
        answer: list[Any] = json.loads(receive(sock, length))
        return answer

    def write(self, buffers: Sequence[Any], size: int) -> BlockRef:
        """Writes a block in one copy; raises OSError if neither memory nor disk has room."""
        try:
            return self.writer.write(buffers, size)
        except BlockNotWritten as error:
            raise OSError(str(error.__cause__)) from None
        except BlockRefused as error:
            raise OSError(error.reason) from None
        except PeerLost as error:
            raise self._lost(str(error), errors.BlockServerLost) from None
        except BlockGone as error:
            raise self._lost(str(error)) from None

    def fetch(self, refs: Sequence[PartRef]) -> list[memoryview | BlockGone]:
        """Reads parts through the block server."""
        client = self.neighbours.client
        assert isinstance(client, BlockClient), "a process that can enter the folders reads there"
        try:
            return client.read_many(self.block_server, [(*each[:3], each.medium) for each in refs])
        except PeerLost as error:
            raise self._lost(str(error), errors.BlockServerLost) from None
        except BlockRefused as error:
            raise self._lost(str(error)) from None

    def _lease(self, number: int, size: int) -> int:
        granted: int = self.ask("lease", number, size)[1]
        return granted

    def _announce(self, number: int) -> None:
        self.ask("spill", number)

    def _lost(
        self, reason: str, kind: type[errors.ExchangeLost] = errors.ExchangeLost
    ) -> errors.ExchangeLost:
        self.is_busy = True
        return kind(shown(self.place[0]), reason)

    @property
    def is_over(self) -> bool:
        """Whether the server has closed it: otherwise an idle connection has nothing to read."""
        waiter = select.poll()
        waiter.register(self.link.sock, select.POLLIN)
        return bool(waiter.poll(0))

    def close(self) -> None:
        self.link.close()
        self.neighbours.close()

    def let_go(self) -> None:
        self.is_busy = True
        self.close()


class ServerConnections:
    """The idle connections of this process, for use by any thread."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.idle: dict[Place, list[ServerConnection]] = {}

    @contextlib.contextmanager
    def borrow(self, place: Place, is_new: bool = False) -> Iterator[ServerConnection]:
        """Lends a connection to the caller while the block runs."""
        with self.lock:
            self._close_ended()
            idle = self.idle.get(place)
            connection = idle.pop() if idle and not is_new else None
        if connection is None:
            connection = ServerConnection(place)
        try:
            yield connection
        finally:
            if connection.is_busy:
                connection.close()
            else:
                with self.lock:
                    self.idle.setdefault(place, []).append(connection)

    def move_bytes(self, place: Place, move: Callable[[ServerConnection], T]) -> T:
        """Calls `move` with a connection; once more with a new one if the block server of the first
        is lost: another may have started."""
        try:
            with self.borrow(place) as connection:
                return move(connection)
        except errors.BlockServerLost:
            self.end(place)
        with self.borrow(place, is_new=True) as connection:
            return move(connection)

    def end(self, place: Place) -> None:
        """Closes the idle connections to an exchange."""
        with self.lock:
            for connection in self.idle.pop(place, []):
                connection.close()

    def end_all(self) -> None:
        for place in list(self.idle):
            self.end(place)

    def _close_ended(self) -> None:
        """Closes idle connections to exchanges that their owners have closed."""
        for place, connections in list(self.idle.items()):
            for connection in [each for each in connections if each.is_over]:
                connections.remove(connection)
                connection.close()
            if not connections:
                del self.idle[place]

    def let_go(self) -> None:
        # Another thread may have held the lock during the fork.
        self.lock = threading.Lock()
        self.idle = {}


CONNECTIONS = ServerConnections()
not_in_children(CONNECTIONS)
atexit.register(CONNECTIONS.end_all)


def receive(sock: socket.socket, size: int) -> bytes:
    """Receives exactly so many bytes."""
    data = bytearray()
    while len(data) < size:
        piece = sock.recv(size - len(data))
        if not piece:
            raise EOFError("it has closed the connection")
        data += piece
    return bytes(data)


def can_enter(folder: str) -> bool:
    """Whether this process may read and write there: not from another machine or user."""
    return os.access(os.path.join(folder, "lock"), os.R_OK | os.W_OK)
