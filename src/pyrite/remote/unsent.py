"""What a socket that never waits has had no room for yet."""

from __future__ import annotations

import socket


class Unsent:
    """Bytes in their order, of which as many go as there is room for."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.bytes = bytearray()

    def __len__(self) -> int:
        return len(self.bytes)

    def send(self, data: bytes = b"") -> None:
        """Sends what is left and then the data, as far as there is room."""
        self.bytes += data
        try:
            while self.bytes:
                del self.bytes[: self.sock.send(self.bytes)]
        except BlockingIOError:
            pass
        except OSError:
            # Who hears next will see that the other side has gone.
            self.bytes.clear()

    def clear(self) -> None:
        self.bytes.clear()
