"""The bytes of a story: a headline with the format's version, then frames with checksums.

A frame is its kind, the length and checksum of its payload, a check of these three, and the
payload: a corrupt length must not be taken for that of an incomplete frame. The first frame is the
header, the second the dictionary that all frames of records are compressed with: without it a
frame of few records would be mostly names. Otherwise they stand for themselves: kinds, their order,
and columns by field name.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import repeat
from typing import Any, NamedTuple

from pyrite.errors import UserError
from pyrite.story.columns import Column, decode_column, encode_column
from pyrite.story.records import (
    KINDS,
    SUCCEEDED,
    Record,
    ResultDelivered,
    TaskEnded,
    TaskStarted,
    Told,
)

VERSION = 1
HEADLINE = f"pyrite story {VERSION}\n".encode()
ANY_HEADLINE = re.compile(rb"pyrite story (\d{1,9})\n")
HEADER, DICTIONARY, RECORDS, BLOB = b"h", b"d", b"r", b"b"
_HEAD = struct.Struct("<cII")
_CHECK = struct.Struct("<I")
HEAD_BYTES = _HEAD.size + _CHECK.size
_BLOB_NUMBER = struct.Struct("<Q")
# The fastest level: most of what there is to gain comes from columns.
LEVEL = 1
# No frame is larger; a length beyond it is damage.
MOST_BYTES = 1 << 31

HOW_TO_MAKE = "run the program with `pyrite run --story FILE`, or with spark.eventLog.enabled=true"


class BadStory(UserError):
    """The file is no story, or nothing can be learnt from it."""


class DamagedStory(BadStory):
    """Some bytes of the story are not what was written; what comes before them could be read."""

    def __init__(self, path: str, at_byte: int, problem: str) -> None:
        super().__init__(
            f"{path!r} is damaged at byte {at_byte}: {problem}. What comes before can be read, "
            "the rest can't; restore the file from a copy if there is one"
        )
        self.at_byte = at_byte


class StoryHeader(NamedTuple):
    """What a story begins with.

    `wall_s` is the time of day, in seconds since 1970, when the engine's clock read `clock_s`.
    """

    application: str
    name: str
    pyrite: str
    python: str
    host: str
    pid: int
    wall_s: float
    clock_s: float
    master: str
    settings: Mapping[str, str]
    script: str = ""
    user: str = ""
    # Whether values of rows may be in errors, and whether functions are in the story.
    values: bool = False
    code: bool = False


def encode_header(header: StoryHeader) -> bytes:
    return frame(HEADER, zlib.compress(json.dumps(header._asdict()).encode(), LEVEL))


@cache
def dictionary() -> bytes:
    """Text that is like the frames of records; the kinds that come most often stand last."""
    texts = []
    for name in KINDS:
        columns = {each: {"same": 0} for each in KINDS[name]._fields}
        texts.append(_json({"kinds": [name], "fields": [columns]}))
    often = Batch()
    for at_s in (1.0, 2.0):
        end = TaskEnded._make([at_s, 1, SUCCEEDED, [56], *range(1, len(TaskEnded._fields) - 4), ()])
        often.add(end._replace(gc_s=0.0, fetch_wait_s=0.0, spilled_bytes=0))
        often.add(ResultDelivered(at_s, 0, 1, 56))
        often.add(TaskStarted(at_s, 1, 0, 0, (1,), 0, 0))
    return "".join([*texts, often.text()]).encode()


def encode_dictionary() -> bytes:
    return frame(DICTIONARY, zlib.compress(dictionary()))


def compress_records(text: str, words: bytes) -> bytes:
    packer = zlib.compressobj(LEVEL, zdict=words)
    return packer.compress(text.encode()) + packer.flush()


def unpack_records(payload: bytes, words: bytes) -> bytes:
    return zlib.decompressobj(zdict=words).decompress(payload)


def decode_header(payload: bytes) -> StoryHeader:
    fields = json.loads(zlib.decompress(payload))
    return StoryHeader(
        **{name: value for name, value in fields.items() if name in StoryHeader._fields}
    )


def frame(kind: bytes, payload: bytes) -> bytes:
    head = _HEAD.pack(kind, len(payload), zlib.crc32(payload))
    return head + _CHECK.pack(zlib.crc32(head)) + payload


class FrameHead(NamedTuple):
    kind: bytes
    length: int
    checksum: int


def read_head(data: bytes) -> FrameHead | None:
    """The head of a frame; None where it is not what was written."""
    head, (check,) = data[: _HEAD.size], _CHECK.unpack_from(data, _HEAD.size)
    if zlib.crc32(head) != check:
        return None
    found = FrameHead(*_HEAD.unpack(head))
    return found if found.length <= MOST_BYTES else None


class Batch:
    """Records on their way to a frame: rows by kind, and the order of the kinds."""

    def __init__(self) -> None:
        self.order: list[int] = []
        self.numbers: dict[str, int] = {}
        self.names: list[tuple[str, tuple[str, ...]]] = []
        self.rows: list[list[Any]] = []
        self.blobs: list[tuple[int, bytes]] = []

    def add(self, record: Record) -> None:
        if type(record) is Told:
            at_s, kind, fields = record
            number = self.numbers.get(kind)
            if number is None:
                number = self._new_kind(kind, ("at_s", *fields))
            self.rows[number].append((at_s, *fields.values()))
        else:
            number = self.numbers.get(type(record).__name__)
            if number is None:
                number = self._new_kind(type(record).__name__, record._fields)
            self.rows[number].append(record)
        self.order.append(number)

    def _new_kind(self, kind: str, names: tuple[str, ...]) -> int:
        number = self.numbers[kind] = len(self.rows)
        self.names.append((kind, names))
        self.rows.append([])
        return number

    def encode(self) -> bytes:
        """The batch's frames: blobs first, since records refer to them."""
        parts = [
            frame(BLOB, _BLOB_NUMBER.pack(number) + zlib.compress(data, LEVEL))
            for number, data in self.blobs
        ]
        if self.order:
            parts.append(frame(RECORDS, compress_records(self.text(), dictionary())))
        return b"".join(parts)

    def text(self) -> str:
        """The records as JSON."""
        kinds = zip(self.names, self.rows, strict=True)
        told = {
            "kinds": [kind for kind, _ in self.names],
            "order": self.order,
            "fields": [columns_of(kind, names, rows) for (kind, names), rows in kinds],
        }
        return _json(told)


def columns_of(kind: str, names: Sequence[str], rows: list[Any]) -> dict[str, Column]:
    """The fields of records of one kind; those that all have their default are left out."""
    defaults = KINDS[kind]._field_defaults if kind in KINDS else {}
    found = {}
    for name, column in zip(names, zip(*rows, strict=True), strict=True):
        if name not in defaults or column.count(defaults[name]) < len(column):
            found[name] = encode_column(name, column)
    return found


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), default=_plain)


def _plain(value: Any) -> Any:
    """A value that JSON does not know."""
    return list(value) if isinstance(value, set | frozenset) else str(value)


def decode_records(payload: bytes, words: bytes) -> Iterator[Record]:
    """The records of a frame, in order; raises all sorts of errors where it is malformed."""
    told = json.loads(unpack_records(payload, words))
    order: list[int] = told["order"]
    counts = [order.count(number) for number in range(len(told["kinds"]))]
    if sum(counts) != len(order):
        raise ValueError("a record of no kind")
    sources = [
        iter(rows_of(kind, fields, count))
        for kind, fields, count in zip(told["kinds"], told["fields"], counts, strict=True)
    ]
    return (next(sources[number]) for number in order)


def rows_of(kind: str, fields: Mapping[str, Any], count: int) -> Sequence[Record]:
    """The records of one kind; fields that this Pyrite does not know are passed over."""
    columns = {name: decode_column(column, count) for name, column in fields.items()}
    known = KINDS.get(kind)
    if known is None:
        names = [name for name in columns if name != "at_s"]
        rows = zip(columns["at_s"], *(columns[name] for name in names), strict=True)
        return [Told(at_s, kind, dict(zip(names, values, strict=True))) for at_s, *values in rows]
    defaults = known._field_defaults
    every = [
        columns[name] if name in columns else list(repeat(defaults[name], count))
        for name in known._fields
    ]
    return list(map(known._make, zip(*every, strict=True)))


def split_blob(payload: bytes) -> tuple[int, bytes]:
    """The number of a blob, and its compressed bytes."""
    return _BLOB_NUMBER.unpack_from(payload)[0], payload[_BLOB_NUMBER.size :]
