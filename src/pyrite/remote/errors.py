"""Errors between a client and another node's block server."""

from __future__ import annotations

import socket
from typing import Any, TypeAlias

from pyrite.errors import ClusterError

# A host and a port, or the path of a Unix socket.
Address: TypeAlias = tuple[str, int] | str


class BlockGone(ClusterError, OSError):
    """The node has no such segment any more, or one that is too short for the block."""

    def __init__(self, address: Address, segment: str, offset: int, length: int) -> None:
        super().__init__(
            f"the node at {shown(address)} does not have bytes {offset} to {offset + length} "
            f"of segment {segment} any more"
        )
        self.address = address
        self.segment = segment


class OutputCorrupt(BlockGone):
    """The node's map output is corrupt: its parts can't be found."""


class BlockRefused(ClusterError, OSError):
    """The node's block server refused the request."""

    def __init__(self, address: Address, segment: str, reason: str) -> None:
        super().__init__(f"the node at {shown(address)} refused segment {segment}: {reason}")
        self.address = address
        self.segment = segment
        self.reason = reason


class PeerLost(ClusterError, OSError):
    """The node's block server does not answer."""

    def __init__(self, address: Address, reason: str) -> None:
        super().__init__(f"the block server at {shown(address)} is lost: {reason}")
        self.address = address
        self.reason = reason


def unpacked(address: Any) -> Address | None:
    """Restores an address from JSON, which turns tuples into lists."""
    return tuple(address) if isinstance(address, list) else address


def family_of(address: Address) -> socket.AddressFamily:
    """The family of the socket for an address."""
    if isinstance(address, str):
        return socket.AF_UNIX
    return socket.AF_INET6 if ":" in address[0] else socket.AF_INET


def shown(address: Address) -> str:
    """Formats the address for messages."""
    if isinstance(address, str):
        return address
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
