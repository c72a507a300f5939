"""Connections to the servers of a ring, kept for the next request; safe in threads and forks."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from pyrite.dht.frames import MOST_WORDS, Call, pack_frame
from pyrite.dht.words import pack
from pyrite.remote.errors import PeerLost
from pyrite.remote.link import Broken, PeerLink
from pyrite.remote.protocol import Status

# A member that is there answers within this, even if it has to hear of a majority first.
ASK_S = 4.0
BLOCK_S = 30.0
IDLE_LINKS = 8


def parsed_address(address: str) -> tuple[str, int]:
    """The host and the port of an address.

    >>> parsed_address("127.0.0.1:7077")
    ('127.0.0.1', 7077)
    """
    host, _, port = address.rpartition(":")
    return host, int(port)


class RingLinks:
    """Idle connections by address and purpose."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._pid = 0
        self._lock = threading.Lock()
        self._idle: dict[tuple[str, float], list[PeerLink]] = {}
        # fsspec drops file systems without closing them.
        weakref.finalize(self, _close_all, self._idle)

    @contextmanager
    def link(self, address: str, timeout_s: float) -> Iterator[PeerLink]:
        """A connection that nobody else uses meanwhile; raises PeerLost."""
        link = self._take(address, timeout_s)
        if link is None:
            link = PeerLink(parsed_address(address), timeout_s)
            try:
                link.connect(self._secret)
            except BaseException:
                link.close()
                raise
        try:
            yield link
        except BaseException as error:
            link.close()
            if isinstance(error, Broken):
                raise PeerLost(parsed_address(address), str(error)) from None
            raise
        self._give_back(address, timeout_s, link)

    def ask(self, address: str, call: Call, words: object) -> tuple[Status, memoryview]:
        """Sends a request without a block; raises PeerLost.

        A connection that was kept may have ended with its server: then a new one is tried.
        """
        while True:
            is_kept = self._has_kept(address)
            try:
                with self.link(address, ASK_S) as link:
                    link.send([pack_frame(call, pack(words))])
                    reply, view = link.receive_any(_buffer, MOST_WORDS)
                    return reply.status, view
            except PeerLost:
                if not is_kept:
                    raise
                self.forget(address)

    def forget(self, address: str) -> None:
        """Closes the idle connections to a server."""
        with self._own_lock():
            known = [key for key in self._idle if key[0] == address]
            idle = [link for key in known for link in self._idle.pop(key)]
        for link in idle:
            link.close()

    def close(self) -> None:
        for address, _ in list(self._idle):
            self.forget(address)

    def _has_kept(self, address: str) -> bool:
        with self._own_lock():
            return bool(self._idle.get((address, ASK_S)))

    def _take(self, address: str, timeout_s: float) -> PeerLink | None:
        with self._own_lock():
            idle = self._idle.get((address, timeout_s))
            return idle.pop() if idle else None

    def _give_back(self, address: str, timeout_s: float, link: PeerLink) -> None:
        with self._own_lock():
            idle = self._idle.setdefault((address, timeout_s), [])
            if len(idle) < IDLE_LINKS:
                idle.append(link)
                return
        link.close()

    @contextmanager
    def _own_lock(self) -> Iterator[None]:
        if self._pid != os.getpid():
            # After a fork: the parent uses these connections, and may have held the lock.
            self._lock = threading.Lock()
            _close_all(self._idle)
            self._pid = os.getpid()
        with self._lock:
            yield


def _close_all(idle: dict[tuple[str, float], list[PeerLink]]) -> None:
    while idle:
        for link in idle.popitem()[1]:
            link.close()


def _buffer(size: int) -> memoryview:
    return memoryview(bytearray(size))
