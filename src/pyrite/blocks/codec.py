"""Rows to bytes and back, one self-contained and checksummed frame per batch of rows.

A frame is a 16-byte header (tag, crc32, payload length), the payload, and zeros up to a multiple
of 8 bytes, so that frames can be laid one after another. The payload is a pickle (protocol 5) with
large buffers kept beside it, each aligned to 64 bytes from the start of the frame; or it is rows of
numbers and texts as the row machine packs them: the length of their layout, the layout, and their
words, in columns of narrower ints where that saves room; where there are texts, the length of the
words before them, and the texts' heap behind. Rows that are bytes are records: the size of all of
them and the records; or zero, their number, their sizes of four bytes each, and the records.
"""

import pickle
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias
from zlib import crc32

from pyrite.blocks.pickling import (
    FEWEST_PLAIN_ROWS,
    Pickled,
    pickle_by_reference,
    pickle_by_value,
    pickle_plain,
)
from pyrite.blocks.weight import WeighedRows
from pyrite.machine.framerows import AnyFrame, rows_of
from pyrite.machine.packed import BadLayout, PackedRows, widened
from pyrite.machine.records import PackedRecords, packed_records

Buffer: TypeAlias = bytes | memoryview

# Limits of a frame's rows; the first frame of a stream is small, to learn how large rows are.
MOST_ROWS = 4096
FIRST_ROWS = 4
MOST_BYTES = 128 << 20
_SMALL_BYTES = 256 * 1024
_LARGE_BYTES = 1024 * 1024
_FASTEST_GROWTH = 8

_PICKLE = b"p"
_PACKED = b"w"
_NARROWED = b"n"
_RECORDS = b"r"

_HEADER = struct.Struct("<c3xIQ")
_SEALED = struct.Struct("<cQ")
_PICKLE_HEAD = struct.Struct("<QQ")
_PACKED_HEAD = struct.Struct("<Q")
_RECORDS_HEAD = struct.Struct("<QQ")
_FRAME_ALIGNMENT = 8
_BUFFER_ALIGNMENT = 64

_RECHECK_AFTER_BATCHES = 64


class CorruptBlock(Exception):
    """Data is not what was written."""


def encode(rows: list[Any]) -> list[Buffer]:
    """Encodes one frame, as buffers to write in sequence; the rows must not change until then."""
    return _encoded_records(rows) or _frame(
        pickle_plain(rows) or pickle_by_reference(rows) or pickle_by_value(rows)
    )


def encode_packed(rows: PackedRows) -> list[Buffer]:
    """Encodes packed rows as one frame."""
    layout = rows.layout.encode()
    head = _PACKED_HEAD.pack(len(layout)) + layout + bytes(-len(layout) % _FRAME_ALIGNMENT)
    narrowed = rows.narrowed()
    tag, words = (_PACKED, rows.words) if narrowed is None else (_NARROWED, narrowed)
    if not rows.has_text:
        return _seal(tag, [head, words])
    return _seal(tag, [head + _PACKED_HEAD.pack(len(words)), words, rows.heap])


def encode_records(records: PackedRecords) -> list[Buffer]:
    """Encodes packed records as one frame."""
    if isinstance(records.sizes, int):
        return _seal(_RECORDS, [_PACKED_HEAD.pack(records.sizes), records.data])
    head = _RECORDS_HEAD.pack(0, len(records))
    return _seal(_RECORDS, [head, records.sizes, records.data])


def _encoded_records(rows: list[Any]) -> list[Buffer] | None:
    """Encodes rows that are bytes as a frame; None for others."""
    if len(rows) < FEWEST_PLAIN_ROWS:
        return None
    records = packed_records(rows)
    return None if records is None else encode_records(records)


def encode_all(rows: Iterable[Any]) -> list[Buffer]:
    """Encodes all rows as frames, in batches that are decoded one at a time."""
    buffers: list[Buffer] = []
    for _, frame in Encoder().batches(iter(rows)):
        buffers += detached(frame)
    return buffers


def detached(frame: list[Buffer]) -> list[Buffer]:
    """Copies a frame's mutable buffers, so that it can be kept while more rows are computed.

    A function may, for example, yield one array again and again with new values.
    """
    return [bytes(each) if _is_mutable(each) else each for each in frame]


def changeable_bytes(frame: list[Buffer]) -> int:
    """Returns how many bytes of the frame are in mutable buffers of rows."""
    return sum(len(each) for each in frame if _is_mutable(each))


def _is_mutable(buffer: Buffer) -> bool:
    return isinstance(buffer, memoryview) and not buffer.readonly


def frame_size(buffers: Sequence[Buffer]) -> int:
    """Returns the total size of these buffers."""
    return sum(
        buffer.nbytes if isinstance(buffer, memoryview) else len(buffer) for buffer in buffers
    )


def decode(frame: memoryview | bytes | bytearray, writable: bool = False) -> list[Any]:
    """Decodes one frame; the rows' large buffers are views into it, or copies where they must be
    `writable`."""
    view = _bytes_view(frame)
    end = _frame_end(view, 0)
    if end != len(view):
        raise CorruptBlock(f"a frame of {end} bytes lies in a block of {len(view)} bytes")
    return rows_of(_open_frame(view, writable))


def split_frames(data: memoryview | bytes) -> Iterator[memoryview]:
    """Returns consecutive frames, one at a time."""
    view = _bytes_view(data)
    start = 0
    while start < len(view):
        end = _frame_end(view, start)
        yield view[start:end]
        start = end


def frame_checksum(frame: memoryview) -> int:
    """Returns the checksum that a frame was written with."""
    checksum: int = _HEADER.unpack_from(frame)[1]
    return checksum


def decode_frames(data: memoryview | bytes, writable: bool = False) -> Iterator[list[Any]]:
    """Decodes consecutive frames, one at a time.

    Large buffers are views into the data, or copies where they must be `writable`.
    """
    return map(rows_of, open_frames(data, writable))


def open_frames(data: memoryview | bytes, writable: bool = False) -> Iterator[AnyFrame]:
    """As `decode_frames`, but packed rows and records stay packed, as views into the data."""
    for frame in split_frames(data):
        yield _open_frame(frame, writable)


def open_frame(frame: memoryview) -> AnyFrame:
    """As `decode`, but packed rows and records stay packed, as views into the frame."""
    return _open_frame(frame, writable=False)


def check_frames(data: memoryview | bytes) -> None:
    """Raises CorruptBlock where one of these frames is corrupt."""
    for frame in split_frames(data):
        _check_frame(frame)


def read_frames(read: Callable[[int], bytes], size: int) -> Iterator[list[Any]]:
    """Decodes frames that `read` returns piece by piece, one frame in memory at a time.

    Large buffers are writable views into their frame, which is not shared.
    """
    while size > 0:
        head = read(_HEADER.size)
        if len(head) < _HEADER.size:
            raise CorruptBlock(f"{len(head)} bytes are left where a frame's header should be")
        payload: int = _HEADER.unpack(head)[2]
        length = _HEADER.size + payload + -payload % _FRAME_ALIGNMENT
        if length > size:
            raise CorruptBlock(f"a frame claims {length} bytes where {size} are left")
        frame = bytearray(head)
        frame += read(length - _HEADER.size)
        yield decode(frame)
        size -= length


def fitting_rows(count: int, size: int, most_rows: int = MOST_ROWS) -> int:
    """Returns the size of the next batch, from the rows and bytes of the last one: memory stays
    bounded."""
    if size > _LARGE_BYTES:
        return max(1, count // 2)
    return min(count * max(1, min(_SMALL_BYTES // size, _FASTEST_GROWTH)), most_rows)


class Encoder:
    """Encodes the batches of one stream, trying first the method that worked for the last ones."""

    def __init__(self) -> None:
        self._plain = self._by_reference = True
        self._batches_until_recheck = 0
        # The rows of the last batch, for callers that go on where they can't be encoded.
        self.batch: list[Any] = []

    def batches(
        self,
        rows: Iterator[Any],
        first_rows: int = FIRST_ROWS,
        most_rows: int = MOST_ROWS,
        most_bytes: int = MOST_BYTES,
    ) -> Iterator[tuple[list[Any], list[Buffer]]]:
        """Splits rows into batches and encodes each; the size of the last frame determines the next
        batch, whose rows take at most `most_bytes` of memory."""
        weighed = WeighedRows(rows, most_bytes)
        count = min(first_rows, most_rows)
        while batch := weighed.take(count):
            self.batch = batch
            frame = self.encode(batch)
            count = fitting_rows(len(batch), frame_size(frame), most_rows)
            yield batch, frame

    def encode(self, rows: list[Any]) -> list[Buffer]:
        """Encodes one frame, like the function `encode`."""
        return _encoded_records(rows) or _frame(
            self._pickle_plain(rows) or self._pickle_with_memo(rows)
        )

    def encode_many(self, rows: list[Any]) -> list[Buffer]:
        """Encodes one frame for all rows if they are plain, else several, since large memos are
        slow."""
        if records := _encoded_records(rows):
            return records
        if plain := self._pickle_plain(rows):
            return _frame(plain)
        buffers: list[Buffer] = []
        for start in range(0, len(rows), MOST_ROWS):
            buffers += _frame(self._pickle_with_memo(rows[start : start + MOST_ROWS]))
        return buffers

    def _pickle_plain(self, rows: list[Any]) -> Pickled | None:
        if self._batches_until_recheck:
            self._batches_until_recheck -= 1
        else:
            self._plain = self._by_reference = True
            self._batches_until_recheck = _RECHECK_AFTER_BATCHES
        if not self._plain or len(rows) < FEWEST_PLAIN_ROWS:
            return None
        pickled = pickle_plain(rows)
        self._plain = pickled is not None
        return pickled

    def _pickle_with_memo(self, rows: list[Any]) -> Pickled:
        pickled = pickle_by_reference(rows) if self._by_reference else None
        self._by_reference = pickled is not None
        return pickled or pickle_by_value(rows)


def _frame(pickled: Pickled) -> list[Buffer]:
    pickled_size = frame_size(pickled.pieces)
    sizes = [raw.nbytes for raw in pickled.beside]
    head = _PICKLE_HEAD.pack(pickled_size, len(sizes)) + struct.pack(f"<{len(sizes)}Q", *sizes)
    payload: list[Buffer] = [head, *pickled.pieces]
    position = _HEADER.size + len(head) + pickled_size
    for raw in pickled.beside:
        if gap := -position % _BUFFER_ALIGNMENT:
            payload.append(bytes(gap))
        payload.append(raw)
        position += gap + raw.nbytes
    return _seal(_PICKLE, payload)


def _seal(tag: bytes, payload: list[Buffer]) -> list[Buffer]:
    size = frame_size(payload)
    checksum = crc32(_SEALED.pack(tag, size))
    for buffer in payload:
        checksum = crc32(buffer, checksum)
    frame = [_HEADER.pack(tag, checksum, size), *payload]
    if gap := -size % _FRAME_ALIGNMENT:
        frame.append(bytes(gap))
    return frame


def _frame_end(view: memoryview, start: int) -> int:
    left = len(view) - start
    if left < _HEADER.size:
        raise CorruptBlock(f"{left} bytes are left where a frame's header should be")
    size: int = _HEADER.unpack_from(view, start)[2]
    length = _HEADER.size + size + -size % _FRAME_ALIGNMENT
    if length > left:
        raise CorruptBlock(f"a frame claims {length} bytes where {left} are left")
    return start + length


def _check_frame(view: memoryview) -> int:
    """Verifies a frame, and returns the length of its payload."""
    tag, checksum, size = _HEADER.unpack_from(view)
    payload = view[_HEADER.size : _HEADER.size + size]
    if crc32(payload, crc32(_SEALED.pack(tag, size))) != checksum:
        raise CorruptBlock(f"wrong checksum over {size} bytes: they changed since written")
    if tag not in (_PICKLE, _PACKED, _NARROWED, _RECORDS):
        raise CorruptBlock(f"unknown frame tag {tag!r}: written by another version of Pyrite?")
    return int(size)


def _open_frame(view: memoryview, writable: bool) -> AnyFrame:
    size = _check_frame(view)
    tag = bytes(view[:1])
    if tag == _RECORDS:
        return _load_records(view[_HEADER.size : _HEADER.size + size])
    if tag in (_PACKED, _NARROWED):
        return _load_packed(view[_HEADER.size : _HEADER.size + size], tag == _NARROWED)
    return _load_pickle(view, size, writable)


def _load_packed(payload: memoryview, is_narrowed: bool) -> PackedRows:
    try:
        (length,) = _PACKED_HEAD.unpack_from(payload)
        start = _PACKED_HEAD.size + length + -length % _FRAME_ALIGNMENT
        layout = bytes(payload[_PACKED_HEAD.size : _PACKED_HEAD.size + length]).decode("ascii")
        if "s" not in layout:
            words = payload[start:]
            return PackedRows(layout, widened(layout, words) if is_narrowed else words)
        (size,) = _PACKED_HEAD.unpack(payload[start : start + _PACKED_HEAD.size])
        start += _PACKED_HEAD.size
        if size > len(payload) - start:
            raise BadLayout(f"{size} bytes of words do not fit into the frame")
        words = payload[start : start + size]
        heap = payload[start + size :]
        rows = PackedRows(layout, widened(layout, words) if is_narrowed else words, heap)
        rows.check_texts()
        return rows
    except (struct.error, BadLayout, UnicodeDecodeError) as error:
        raise CorruptBlock(f"a frame of packed rows can't be read: {error}") from error


def _load_records(payload: memoryview) -> PackedRecords:
    try:
        (size,) = _PACKED_HEAD.unpack_from(payload)
        records = PackedRecords(size, payload[_PACKED_HEAD.size :])
        if not size:
            _, count = _RECORDS_HEAD.unpack_from(payload)
            sizes = payload[_RECORDS_HEAD.size : _RECORDS_HEAD.size + 4 * count]
            if len(sizes) != 4 * count:
                raise BadLayout(f"{len(sizes)} bytes have no {count} sizes")
            records = PackedRecords(sizes, payload[_RECORDS_HEAD.size + 4 * count :])
        records.check()
        return records
    except (struct.error, BadLayout) as error:
        raise CorruptBlock(f"a frame of records can't be read: {error}") from error


def _load_pickle(view: memoryview, size: int, writable: bool) -> list[Any]:
    try:
        pickled_size, count = _PICKLE_HEAD.unpack_from(view, _HEADER.size)
        start = _HEADER.size + _PICKLE_HEAD.size
        sizes = struct.unpack_from(f"<{count}Q", view, start)
    except struct.error as error:
        raise CorruptBlock(f"a frame's list of buffers is cut short: {error}") from error
    start += 8 * count
    position = start + pickled_size
    kept: list[memoryview | bytearray] = []
    for each in sizes:
        position += -position % _BUFFER_ALIGNMENT
        buffer = view[position : position + each]
        kept.append(bytearray(buffer) if writable else buffer)
        position += each
    if position != _HEADER.size + size:
        raise CorruptBlock(f"a frame's buffers end at {position}, its payload elsewhere")
    rows: list[Any] = pickle.loads(view[start : start + pickled_size], buffers=kept)
    return rows


def _bytes_view(data: memoryview | bytes | bytearray) -> memoryview:
    view = memoryview(data)
    return view if view.format == "B" else view.cast("B")
