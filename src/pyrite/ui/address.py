"""Where a page can be reached: a socket on this machine's own address, and a token."""

from __future__ import annotations

import secrets
import socket
from typing import NamedTuple

from pyrite.errors import UserError

LOOPBACK = "127.0.0.1"
DEFAULT_PORT = 4040
# As spark.port.maxRetries: so many ports after the first are tried.
MORE_PORTS = 16
BACKLOG = 64


class PortTaken(UserError):
    """Nothing can listen at the port."""


class Address(NamedTuple):
    """A socket that listens, and the token that its callers must have."""

    listener: socket.socket
    token: str

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}/?token={self.token}"

    @property
    def cookie(self) -> str:
        """Cookies know no ports: two pages must not overwrite each other's."""
        return f"pyrite-{self.port}"


def new_address(port: int, more: int = 0, token: str | None = None) -> Address:
    """Listens at the port, or at one of `more` ports behind it; 0 is any."""
    for number in range(port, min(port + more, 65535) + 1):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, number))
            listener.listen(BACKLOG)
        except OSError as error:
            listener.close()
            if number == min(port + more, 65535):
                taken = f"port {port}" if not more else f"ports {port} to {number}"
                raise PortTaken(
                    f"{taken} can't be used: {error.strerror}; give another with --port "
                    "(spark.ui.port), 0 for any free one"
                ) from None
            continue
        return Address(listener, secrets.token_urlsafe(18) if token is None else token)
    raise AssertionError("no port was tried")
