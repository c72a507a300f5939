"""Messages between the driver and its processes: length-prefixed, over private socket pairs."""

from __future__ import annotations

import marshal
import os
import select
import signal
import socket
import struct
import sys
from collections.abc import Iterator
from typing import Any

LENGTH = struct.Struct("<I")
CHUNK_BYTES = 1 << 18
# The signal that tells an executor to cancel its task.
CANCELLING = (signal.SIGUSR1,)

Message = tuple[Any, ...]


def pack(message: Message) -> bytes:
    body = marshal.dumps(message)
    return LENGTH.pack(len(body)) + body


class Unpacker:
    """Cuts a stream of bytes into messages."""

    def __init__(self) -> None:
        self.data = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        self.data += data
        start = 0
        while len(self.data) - start >= 4:
            (length,) = LENGTH.unpack_from(self.data, start)
            if len(self.data) - start - 4 < length:
                break
            yield marshal.loads(self.data[start + 4 : start + 4 + length])
            start += 4 + length
        del self.data[:start]


class SocketChannel:
    """An executor's end of the socket, which blocks."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.unpacker = Unpacker()
        self.waiting: list[Message] = []

    def send(self, message: Message) -> None:
        self.sock.sendall(pack(message))

    def receive(self, interruptible: bool = False) -> Message:
        """Waits for the next message; a signal may interrupt the wait, but never splits a
        message."""
        while not self.waiting:
            if interruptible:
                select.select([self.sock], [], [])
            try:
                if interruptible:
                    signal.pthread_sigmask(signal.SIG_BLOCK, CANCELLING)
                self._read()
            finally:
                if interruptible:
                    signal.pthread_sigmask(signal.SIG_UNBLOCK, CANCELLING)
        return self.waiting.pop()

    def poll(self) -> Message | None:
        """Returns a message that has arrived, if there is one."""
        if not self.waiting and not select.select([self.sock], [], [], 0)[0]:
            return None
        return self.receive(interruptible=True)

    def _read(self) -> None:
        data = self.sock.recv(CHUNK_BYTES)
        if not data:
            raise EOFError("the driver has gone")
        self.waiting = list(self.unpacker.feed(data))[::-1]


def own_paths() -> list[str]:
    """Where this process finds modules, for processes that it starts."""
    return [path or os.getcwd() for path in sys.path]
