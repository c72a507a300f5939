"""The listening side of a member: who proves the secret is served, others learn nothing."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
import zlib
from typing import Any

from pyrite.dht.blocks import ELSEWHERE, FULL, STORED
from pyrite.dht.frames import HEAD, Call, unpack_frame
from pyrite.dht.server import RingServer
from pyrite.dht.store import CHUNK_BYTES, IncomingBlock, is_block_name
from pyrite.dht.words import BadWords, pack, unpack
from pyrite.remote.handshake import ANSWER_BYTES, counter_proof, fresh_nonce
from pyrite.remote.protocol import Malformed, Reason, Status, pack_reply

HANDSHAKE_S = 5.0
# Of more than this many strangers the oldest goes: who knows the secret needs a millisecond.
MOST_STRANGERS = 32
IDLE_S = 600
SEND_BYTES = 2 << 20


class RingDoor:
    """Accepts clients and members, each with a thread."""

    def __init__(self, server: RingServer, listener: socket.socket, secret: bytes) -> None:
        self.server = server
        self.listener = listener
        self._secret = secret
        self._strangers: dict[int, socket.socket] = {}
        self._lock = threading.Lock()

    def run(self) -> None:
        """Until the listener is closed."""
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            with self._lock:
                self._strangers[id(sock)] = sock
                if len(self._strangers) > MOST_STRANGERS:
                    oldest = self._strangers.pop(next(iter(self._strangers)))
                    # Its thread closes it: a descriptor must not be used again before.
                    with contextlib.suppress(OSError):
                        oldest.shutdown(socket.SHUT_RDWR)
            threading.Thread(target=self._welcome, args=(sock,), daemon=True).start()

    def _welcome(self, sock: socket.socket) -> None:
        with sock, contextlib.suppress(OSError, Malformed, BadWords, ValueError):
            try:
                sock.settimeout(HANDSHAKE_S)
                nonce = fresh_nonce()
                sock.sendall(nonce)
                proof = counter_proof(self._secret, nonce, _exactly(sock, ANSWER_BYTES))
                if proof is None:
                    return
                sock.sendall(proof)
            finally:
                with self._lock:
                    self._strangers.pop(id(sock), None)
            # The kernel's timeouts: with Python's, sendfile would not wait.
            sock.settimeout(None)
            limit = struct.pack("ll", IDLE_S, 0)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)
            while True:
                self._serve(sock)

    def _serve(self, sock: socket.socket) -> None:
        call, size, data = unpack_frame(_exactly(sock, HEAD.size))
        words = unpack(_exactly(sock, size))
        if data and call is not Call.PUT:
            raise Malformed("a request with a block that has no place for one")
        server = self.server
        match call:
            case Call.TELL:
                server.hear(*words)
            case Call.ASK:
                _reply(sock, server.ask(words))
            case Call.PUT:
                id, view, name, checksums = words
                if id != server.folder.id:
                    raise Malformed("a block for a member that was here before")
                _reply(sock, self._put(sock, view, name, tuple(checksums), data))
            case Call.GET:
                self._get(sock, *words)
            case Call.DROP:
                server.drop(words)
                _reply(sock, None)
            case Call.CHECK:
                _reply(sock, self._check(*words))
            case Call.STATUS:
                _reply(sock, server.status())

    def _put(
        self, sock: socket.socket, view: int, name: str, checksums: tuple[int, ...], length: int
    ) -> str:
        if not is_block_name(name) or len(checksums) != -(-length // CHUNK_BYTES):
            raise Malformed("no block")
        outcome, coming = ELSEWHERE, None
        try:
            if self.server.takes(view, name):
                outcome, coming = STORED, self.server.store.begin(name, length)
        except OSError:
            outcome = FULL
        is_kept = False
        try:
            outcome = self._receive(sock, coming, length, checksums) or outcome
            if coming is not None and outcome == STORED:
                outcome = _finished(coming, checksums)
                is_kept = outcome == STORED
        finally:
            if coming is not None and not is_kept:
                coming.abandon()
        if outcome == STORED and not self.server.stored(view, name, length):
            return ELSEWHERE
        return outcome

    def _receive(
        self,
        sock: socket.socket,
        coming: IncomingBlock | None,
        length: int,
        checksums: tuple[int, ...],
    ) -> str:
        """Receives all of a block, since the client sends it before it listens.

        Returns what is wrong with it.
        """
        problem = ""
        buffer = memoryview(bytearray(min(length, CHUNK_BYTES)))
        for index, start in enumerate(range(0, length, CHUNK_BYTES)):
            piece = buffer[: min(CHUNK_BYTES, length - start)]
            _fill(sock, piece)
            if coming is None or problem:
                continue
            try:
                coming.add(piece)
            except OSError:
                problem = FULL
            if zlib.crc32(piece) != checksums[index]:
                problem = "the block changed on its way"
        return problem

    def _get(self, sock: socket.socket, name: str, start: int, length: int) -> None:
        found = self.server.store.open(name) if is_block_name(name) else None
        if found is None or not 0 <= start <= start + length <= found.length:
            if found is not None:
                os.close(found.fd)
            sock.sendall(pack_reply(Status.GONE))
            return
        try:
            sock.sendall(pack_reply(Status.OK, length))
            at, end = start, start + length
            while at < end:
                sent = os.sendfile(sock.fileno(), found.fd, at, end - at)
                if not sent:
                    raise ConnectionAbortedError("the block's file got shorter")
                at += sent
        finally:
            os.close(found.fd)

    def _check(self, name: str, repairs: bool) -> bool:
        """Whether a block is here as it was written; if not, others may be asked for it."""
        if not is_block_name(name):
            raise Malformed("no block")
        is_good = self.server.store.checksums(name) is not None
        if is_good:
            self.server.store.touch(name)
        elif repairs:
            self.server.lost(name)
        return is_good


def _finished(coming: IncomingBlock, checksums: tuple[int, ...]) -> str:
    try:
        coming.finish(checksums)
    except OSError:
        return FULL
    return STORED


def _reply(sock: socket.socket, value: Any) -> None:
    words = pack(value)
    sock.sendall(pack_reply(Status.OK, len(words), Reason.NONE) + words)


def _exactly(sock: socket.socket, size: int) -> bytes:
    buffer = bytearray(size)
    _fill(sock, memoryview(buffer))
    return bytes(buffer)


def _fill(sock: socket.socket, view: memoryview) -> None:
    while view:
        got = sock.recv_into(view)
        if not got:
            raise ConnectionResetError("the other side has closed the connection")
        view = view[got:]
