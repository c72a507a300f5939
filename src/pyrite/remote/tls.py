"""TLS: what nodes and driver send each other can't be read on the way.

Inside of it both sides prove as ever that they know the application's secret.
"""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from pyrite.remote.gate import RECORD_BYTES

T = TypeVar("T")


class TlsSocket(ssl.SSLSocket):
    """Has what Pyrite uses of plain sockets, and their error where one would have to wait.

    The handshake happens with the first bytes that are sent or received.
    """

    def send(self, data: Any, flags: int = 0) -> int:
        return _waiting(super().send, memoryview(data)[:RECORD_BYTES])

    def sendmsg(  # type: ignore[override]
        self, buffers: Iterable[Any], ancdata: Iterable[Any] = (), flags: int = 0
    ) -> int:
        joined = bytearray()
        for buffer in buffers:
            joined += memoryview(buffer)[: RECORD_BYTES - len(joined)]
            if len(joined) == RECORD_BYTES:
                break
        return self.send(joined) if joined else 0

    def recv(self, buflen: int = RECORD_BYTES, flags: int = 0) -> bytes:
        return _waiting(super().recv, min(buflen, RECORD_BYTES))

    def recv_into(self, buffer: Any, nbytes: int | None = None, flags: int = 0) -> int:
        return _waiting(super().recv_into, buffer, nbytes)

    def recvmsg_into(self, buffers: Iterable[Any]) -> tuple[int]:  # type: ignore[override]
        """Fills the first buffer alone."""
        return (self.recv_into(next(iter(buffers))),)

    def shutdown(self, how: int) -> None:
        # Another thread may wait on it; the inherited method would have it go on without TLS.
        socket.socket.shutdown(self, how)


def _waiting(call: Callable[..., T], *arguments: Any) -> T:
    try:
        return call(*arguments)
    except (ssl.SSLWantReadError, ssl.SSLWantWriteError, TimeoutError):
        raise BlockingIOError(errno.EAGAIN, "the other side is not ready") from None


class Gate:
    """The certificates of this process: both sides of a connection show theirs."""

    def __init__(self, certificate: str, key: str, authority: str) -> None:
        self._server = made_context(ssl.PROTOCOL_TLS_SERVER, certificate, key, authority)
        self._client = made_context(ssl.PROTOCOL_TLS_CLIENT, certificate, key, authority)

    def welcome(self, sock: socket.socket) -> TlsSocket:
        """The server's side of a connection, which never waits."""
        sock.setblocking(False)
        made: TlsSocket = self._server.wrap_socket(  # type: ignore[assignment]
            sock, server_side=True, do_handshake_on_connect=False
        )
        return made

    def enter(self, sock: socket.socket, host: str, timeout_s: float) -> TlsSocket:
        """The client's side, to a server whose certificate is for this host; waits so long for
        its answers."""
        sock.settimeout(timeout_s)
        made: TlsSocket = self._client.wrap_socket(sock, server_hostname=host)  # type: ignore[assignment]
        return made


def made_context(
    protocol: ssl._SSLMethod, certificate: str, key: str, authority: str
) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    # Its reads never have to wait for room to write.
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(authority)
    context.sslsocket_class = TlsSocket
    return context
