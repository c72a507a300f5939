"""Requests to a ring's server: a header of fixed size, words, and the bytes of a block.

The handshake and the header of replies are those of the block servers.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Any, NamedTuple

from pyrite.remote.protocol import Malformed

MAGIC = b"pyd1"
HEAD = struct.Struct("<4sB3xIQ")
MOST_WORDS = 1 << 28
MOST_BLOCK_BYTES = 1 << 32


class Call(IntEnum):
    """The kinds of requests; a message of a member has no reply."""

    TELL = 1
    ASK = 2
    PUT = 3
    GET = 4
    DROP = 5
    CHECK = 6
    STATUS = 7


class RingFrame(NamedTuple):
    """A request's header."""

    call: Call
    words: int
    data: int


def pack_frame(call: Call, words: bytes, data_bytes: int = 0) -> bytes:
    """The header and the words of a request."""
    return HEAD.pack(MAGIC, call, len(words), data_bytes) + words


def unpack_frame(header: Any) -> RingFrame:
    """Decodes a header; raises Malformed."""
    magic, number, words, data = HEAD.unpack(header)
    if magic != MAGIC or number not in Call._value2member_map_:
        raise Malformed("no request to a ring")
    if words > MOST_WORDS or data > MOST_BLOCK_BYTES:
        raise Malformed("no sizes")
    return RingFrame(Call(number), words, data)
