"""The options of an exchange, checked before its process starts."""

from __future__ import annotations

import os
import socket
import tempfile
from operator import index
from typing import NamedTuple

from pyrite.blocks.writer import SEGMENT_BYTES
from pyrite.errors import UserError
from pyrite.quantities import parse_bytes

# A pool has about so many segments, unless they would be larger than the engine's.
SEGMENTS = 64
SMALLEST_BYTES = 64 << 10


class Options(NamedTuple):
    """The options that the owner sends to the server."""

    memory_bytes: int
    segment_bytes: int
    local_dir: str
    host: str
    direct: bool


def checked(memory: str | int, local_dir: str | None, host: str, direct: bool) -> Options:
    """Returns checked options; raises UserError for bad ones."""
    memory_bytes = size_of(memory)
    segment_bytes = min(SEGMENT_BYTES, max(SMALLEST_BYTES, memory_bytes // SEGMENTS))
    folder = os.path.abspath(local_dir or tempfile.gettempdir())
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UserError(
            f"the exchange can't write to {folder}: give local_dir a folder that exists and "
            "that you can write to"
        )
    check_host(host)
    return Options(memory_bytes, segment_bytes, folder, host, bool(direct))


def size_of(memory: str | int) -> int:
    """The bytes of the pool."""
    try:
        size = parse_bytes(memory) if isinstance(memory, str) else index(memory)
    except (TypeError, ValueError, OverflowError):
        size = -1
    if size < 0:
        raise UserError(
            f"an exchange can't have memory={memory!r}: give a whole number of bytes, from 0 on, "
            "or a text such as '512m' or '2g'"
        )
    return size


def check_host(host: str) -> None:
    """Refuses hosts that other machines can't reach, unless they are plain loopback addresses:
    handles carry the address."""
    if host in ("", "0.0.0.0"):
        raise UserError(
            f"an exchange can't listen at {host!r}, since handles carry its address: give the "
            "host's name or address by which others reach it"
        )
    if host == "localhost" or host.startswith("127."):
        return
    try:
        address = socket.gethostbyname(host)
    except OSError:
        # The attempt to listen there will report the reason.
        return
    if address.startswith("127."):
        raise UserError(
            f"host {host!r} is {address} here, which no other machine can reach: give the address "
            "by which others reach this one, or host='127.0.0.1' where there are no others"
        )
