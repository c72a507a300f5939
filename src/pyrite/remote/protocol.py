"""The protocol of block servers: requests and replies with headers of fixed size.

The bytes of a block follow a write request, and the reply to a read request. The numbers of the
requested parts of a map output follow a gather request, and a selection of the output follows its
reply. Replies come in the order of the requests.
"""

from __future__ import annotations

import re
import struct
from array import array
from collections.abc import Sequence
from enum import IntEnum
from operator import ge
from typing import Any, NamedTuple

from pyrite.ids import Medium

MAGIC = b"pyr2"
NAME_BYTES = 64
# No block is this large; the sum of two such numbers is still a valid offset for the kernel.
MOST_BYTES = 1 << 44
# Per request: a search for more would hold up other clients.
MOST_PARTS = 1 << 16
PART_BYTES = 4

REQUEST = struct.Struct(f"<4sBB2xQQQ{NAME_BYTES}s")
REPLY = struct.Struct("<4sBB2xQ")
# The names that blocks/names.py makes; the same folders hold other files.
_SEGMENT = re.compile(rb"(?:driver|e[0-9]+|fetched|moved|shared|copy-driver-[0-9]+)-[0-9]+")


class Kind(IntEnum):
    """The kind of a request."""

    PING = 1
    READ = 2
    WRITE = 3
    GATHER = 4


class Status(IntEnum):
    """The outcome of a request."""

    OK = 1
    GONE = 2
    REFUSED = 3


class Reason(IntEnum):
    """Why a request was refused."""

    NONE = 0
    MALFORMED = 1
    TOO_LARGE = 2
    EXISTS = 3
    WRITTEN = 4
    BUSY = 5
    NO_ROOM = 6
    FORGOTTEN = 7
    UNKNOWN = 8
    CORRUPT = 9


MEANING = {
    Reason.NONE: "no reason was given",
    Reason.MALFORMED: "the request is malformed",
    Reason.TOO_LARGE: "the block does not fit into its segment, or the segment is too large",
    Reason.EXISTS: "a segment of this name was made by somebody else",
    Reason.WRITTEN: "a block lies there already",
    Reason.BUSY: "somebody else is writing to the segment",
    Reason.NO_ROOM: "the node's memory or disk did not take it; free space there",
    Reason.FORGOTTEN: "the segment was dropped before it was written",
    Reason.UNKNOWN: "the segment was not begun here",
    Reason.CORRUPT: "the block is corrupt",
}

# The encoding of a medium as a byte.
_MEDIA: dict[int, Medium] = {1: "memory", 2: "disk"}
_MEDIUM_BYTES = {medium: byte for byte, medium in _MEDIA.items()}
_KINDS = {kind.value: kind for kind in Kind}
_STATUSES = {status.value: status for status in Status}
_REASONS = {reason.value: reason for reason in Reason}


class Malformed(ValueError):
    """The bytes violate the protocol."""


class Request(NamedTuple):
    """Bytes of a segment to read or write; `total` is the size of a segment to create.

    In a gather request, `total` is the number of parts.
    """

    kind: Kind
    segment: str
    offset: int
    length: int
    medium: Medium
    total: int


class Reply(NamedTuple):
    """The outcome of a request, and how many bytes follow."""

    status: Status
    reason: Reason
    length: int


def pack_request(
    kind: Kind, segment: str, offset: int, length: int, medium: Medium = "memory", total: int = 0
) -> bytes:
    """Encodes a request's header; raises ValueError for what a server would not accept."""
    name = segment.encode()
    if not is_segment(name):
        raise ValueError(f"{segment!r} is no name of a segment")
    if medium not in _MEDIUM_BYTES:
        raise ValueError(f"a segment lies in memory or on disk, not in {medium!r}")
    if not (0 <= offset <= MOST_BYTES and 0 <= length <= MOST_BYTES and 0 <= total <= MOST_BYTES):
        raise ValueError(f"bytes {offset} to {offset + length} of {segment} can't be meant")
    return REQUEST.pack(MAGIC, kind, _MEDIUM_BYTES[medium], offset, length, total, name)


def pack_parts(parts: Sequence[int]) -> bytes:
    """Encodes the part numbers that follow a gather request; they must ascend."""
    if not 0 < len(parts) <= MOST_PARTS:
        raise ValueError(f"{len(parts)} parts can't be had at once, only 1 to {MOST_PARTS}")
    return array("I", parts).tobytes()


PING = REQUEST.pack(MAGIC, Kind.PING, 0, 0, 0, 0, b"")


def unpack_request(header: Any) -> Request:
    """Decodes a request's header; raises Malformed."""
    magic, number, place, offset, length, total, field = REQUEST.unpack(header)
    kind = _KINDS.get(number)
    if magic != MAGIC or kind is None:
        raise Malformed("no request")
    if kind is Kind.PING:
        return Request(kind, "", 0, 0, "memory", 0)
    name = field.rstrip(b"\0")
    if not is_segment(name):
        raise Malformed("no name of a segment")
    medium = _MEDIA.get(place)
    if medium is None:
        raise Malformed("neither memory nor disk")
    if offset > MOST_BYTES or length > MOST_BYTES or total > MOST_BYTES:
        raise Malformed("no sizes")
    if kind is Kind.GATHER and not 0 < total <= MOST_PARTS:
        raise Malformed("no number of parts")
    return Request(kind, name.decode(), offset, length, medium, total)


def unpack_parts(body: Any) -> list[int]:
    """Decodes the part numbers of a gather request; raises Malformed."""
    parts = memoryview(body).cast("I").tolist()
    if any(map(ge, parts, parts[1:])):
        raise Malformed("numbers of parts that do not ascend")
    return parts


def is_segment(name: bytes) -> bool:
    """Whether this names a segment: never a path, hidden file or lock."""
    return len(name) <= NAME_BYTES and _SEGMENT.fullmatch(name) is not None


def pack_reply(status: Status, length: int = 0, reason: Reason = Reason.NONE) -> bytes:
    """Encodes a reply's header."""
    return REPLY.pack(MAGIC, status, reason, length)


def unpack_reply(header: Any) -> Reply:
    """Decodes a reply's header; raises Malformed."""
    magic, number, why, length = REPLY.unpack(header)
    status, reason = _STATUSES.get(number), _REASONS.get(why)
    if magic != MAGIC or status is None or reason is None:
        raise Malformed("no reply")
    return Reply(status, reason, length)
