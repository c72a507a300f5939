"""Rows to bytes and back, one self-contained and checksummed frame per batch of rows.

A frame is a 16-byte header (tag, crc32, payload length), the payload, and zeros up to a multiple
of 8 bytes, so that frames can be laid one after another. The payload is a pickle (protocol 5) with
large buffers kept beside it, each aligned to 64 bytes from the start of the frame.

Plain rows are pickled without a memo. That was measured as fast as marshal, in both directions,
and needs no check beforehand: marshal silently turns anything with a buffer (a numpy scalar, a
bytearray) into bytes, and looking for such values costs twice what it saves.
"""

import pickle
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeAlias
from zlib import crc32

Buffer: TypeAlias = bytes | memoryview

# A frame has at most so many rows, and fewer where they are large: it begins with few, to see.
MOST_ROWS = 4096
FIRST_ROWS = 4
_SMALL_BYTES = 256 * 1024
_LARGE_BYTES = 1024 * 1024
_FASTEST_GROWTH = 8

_PICKLE = b"p"

_HEADER = struct.Struct("<c3xIQ")
_SEALED = struct.Struct("<cQ")
_PICKLE_HEAD = struct.Struct("<QQ")
_FRAME_ALIGNMENT = 8
_BUFFER_ALIGNMENT = 64
# Below this a buffer is cheaper to copy than to align and to list.
_OUT_OF_BAND_BYTES = 4096

# A smaller pickle is not worth looking for values that it holds many times over.
_SUSPECT_BYTES = 1 << 20
_RECHECK_AFTER_BATCHES = 64


class CorruptBlock(Exception):
    """Bytes that are not the frame that was written."""


def encode(rows: list[Any]) -> list[Buffer]:
    """One frame, as buffers to be written one after another while the rows stay unchanged."""
    return _encode_plain(rows) or _encode_by_reference(rows) or _encode_by_value(rows)


def encode_all(rows: Iterable[Any]) -> list[Buffer]:
    """All rows as frames, in batches that are decoded one at a time."""
    buffers: list[Buffer] = []
    for _, frame in Encoder().batches(iter(rows)):
        buffers += frame
    return buffers


def encode_bytes(rows: list[Any]) -> bytes:
    """One frame as one bytes object."""
    return b"".join(encode(rows))


def frame_size(buffers: Sequence[Buffer]) -> int:
    """How many bytes these buffers take when written one after another."""
    return sum(
        buffer.nbytes if isinstance(buffer, memoryview) else len(buffer) for buffer in buffers
    )


def decode(frame: memoryview | bytes, writable: bool = False) -> list[Any]:
    """The rows of one frame; their large buffers are views into it, or `writable` copies."""
    view = _bytes_view(frame)
    end = _frame_end(view, 0)
    if end != len(view):
        raise CorruptBlock(f"a frame of {end} bytes lies in a block of {len(view)} bytes")
    return _decode_frame(view, writable)


def decode_frames(data: memoryview | bytes, writable: bool = False) -> Iterator[list[Any]]:
    """The rows of frames laid one after another, decoded one frame at a time.

    Large buffers are views into the data, or where they must be `writable` copies of their own.
    """
    view = _bytes_view(data)
    start = 0
    while start < len(view):
        end = _frame_end(view, start)
        yield _decode_frame(view[start:end], writable)
        start = end


def check_frames(data: memoryview | bytes) -> None:
    """Raises CorruptBlock where one of these frames is not what was written."""
    view = _bytes_view(data)
    start = 0
    while start < len(view):
        end = _frame_end(view, start)
        _check_frame(view[start:end])
        start = end


def read_frames(
    read: Callable[[int], bytes], size: int, writable: bool = False
) -> Iterator[list[Any]]:
    """The rows of frames that `read` brings piece by piece, one frame in memory at a time.

    Large buffers are views into the frame, or where they must be `writable` copies of their own.
    """
    while size > 0:
        head = read(_HEADER.size)
        if len(head) < _HEADER.size:
            raise CorruptBlock(f"{len(head)} bytes are left where a frame's header should be")
        payload: int = _HEADER.unpack(head)[2]
        length = _HEADER.size + payload + -payload % _FRAME_ALIGNMENT
        if length > size:
            raise CorruptBlock(f"a frame claims {length} bytes where {size} are left")
        yield decode(head + read(length - _HEADER.size), writable)
        size -= length


def fitting_rows(count: int, size: int, most_rows: int = MOST_ROWS) -> int:
    """How many rows to encode next, after so many made so many bytes: memory stays bounded."""
    if size > _LARGE_BYTES:
        return max(1, count // 2)
    return min(count * max(1, min(_SMALL_BYTES // size, _FASTEST_GROWTH)), most_rows)


class Encoder:
    """Encodes the batches of one stream, trying first what the last ones needed."""

    def __init__(self) -> None:
        self._plain = self._by_reference = True
        self._batches_until_recheck = 0

    def batches(
        self, rows: Iterator[Any], first_rows: int = FIRST_ROWS, most_rows: int = MOST_ROWS
    ) -> Iterator[tuple[list[Any], list[Buffer]]]:
        """All rows in batches, each with its frame; how large the last was tells how many rows
        the next has."""
        count = min(first_rows, most_rows)
        while batch := list(islice(rows, count)):
            frame = self.encode(batch)
            count = fitting_rows(count, frame_size(frame), most_rows)
            yield batch, frame

    def encode(self, rows: list[Any]) -> list[Buffer]:
        """One frame, like the function `encode`."""
        if self._batches_until_recheck:
            self._batches_until_recheck -= 1
        else:
            self._plain = self._by_reference = True
            self._batches_until_recheck = _RECHECK_AFTER_BATCHES
        if self._plain:
            if frame := _encode_plain(rows):
                return frame
            self._plain = False
        if self._by_reference:
            if frame := _encode_by_reference(rows):
                return frame
            self._by_reference = False
        return _encode_by_value(rows)


class _NotPlain(Exception):
    """A value that is no plain builtin."""


class _PlainPickler(pickle.Pickler):
    """Pickles plain builtins without a memo and refuses everything else."""

    def reducer_override(self, value: Any) -> Any:
        # Called for all but exact builtins. Without a memo an object would lose its identity:
        # two references within a row would become two objects.
        raise _NotPlain


class _PlainPieces:
    """The file a plain pickler writes to: keeps the pieces, and stops where a memo is needed."""

    def __init__(self, rows: list[Any], trusted: bool = False) -> None:
        self.pieces: list[Buffer] = []
        self._rows = rows
        self._trusted = trusted
        self._size = 0

    def write(self, piece: Buffer) -> None:
        # A piece may also be a view into a string's own memory, without a hold on the string.
        self.pieces.append(piece if type(piece) is bytes else bytes(piece))
        self._size += len(piece)
        if self._size > _SUSPECT_BYTES and not self._trusted:
            if _shares_values(self._rows):
                raise _NotPlain
            self._trusted = True


def _encode_plain(rows: list[Any]) -> list[Buffer] | None:
    try:
        return _frame_pickle(_pickle_plain(_PlainPieces(rows), rows), [])
    except (_NotPlain, ValueError, RecursionError):
        return None  # ValueError: a list that contains itself


def _pickle_plain(sink: _PlainPieces, rows: list[Any]) -> list[Buffer]:
    pickler = _PlainPickler(sink, protocol=5)
    pickler.fast = True
    pickler.dump(rows)
    return sink.pieces


def _shares_values(rows: list[Any]) -> bool:
    """Whether a memo would shrink these rows much, judged by a few of them.

    Rows that all hold one and the same long list must not write it once per row.
    """
    while len(rows) == 1 and type(rows[0]) is list:
        rows = rows[0]
    sample_rows = min(max(2, len(rows) // 32), 8)
    sample = rows[:: max(1, len(rows) // sample_rows)]
    without_memo = frame_size(_pickle_plain(_PlainPieces(sample, trusted=True), sample))
    return len(pickle.dumps(sample, protocol=5)) < 0.75 * without_memo


def _encode_by_reference(rows: list[Any]) -> list[Buffer] | None:
    keeper = _BufferKeeper()
    try:
        pickled = pickle.dumps(rows, protocol=5, buffer_callback=keeper)
    except MemoryError:
        raise
    except Exception:
        return None  # cloudpickle knows more types, and its error is the one to show
    # What __main__ defines can be named here, but not in another process.
    if b"__main__" in pickled:
        return None
    return _frame_pickle([pickled], keeper.kept)


def _encode_by_value(rows: list[Any]) -> list[Buffer]:
    import cloudpickle

    keeper = _BufferKeeper()
    pickled = cloudpickle.dumps(rows, protocol=5, buffer_callback=keeper)
    return _frame_pickle([pickled], keeper.kept)


class _BufferKeeper:
    """Pickle's buffer callback: keeps large buffers out of the pickle, lets small ones in."""

    def __init__(self) -> None:
        self.kept: list[memoryview] = []

    def __call__(self, buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < _OUT_OF_BAND_BYTES:
            return True
        self.kept.append(raw)
        return False


def _frame_pickle(pickled: list[Buffer], kept: list[memoryview]) -> list[Buffer]:
    pickled_size = frame_size(pickled)
    sizes = [raw.nbytes for raw in kept]
    head = _PICKLE_HEAD.pack(pickled_size, len(kept)) + struct.pack(f"<{len(kept)}Q", *sizes)
    payload = [head, *pickled]
    position = _HEADER.size + len(head) + pickled_size
    for raw in kept:
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
    """How long its payload is."""
    tag, checksum, size = _HEADER.unpack_from(view)
    payload = view[_HEADER.size : _HEADER.size + size]
    if crc32(payload, crc32(_SEALED.pack(tag, size))) != checksum:
        raise CorruptBlock(f"wrong checksum over {size} bytes: they changed since written")
    if tag != _PICKLE:
        raise CorruptBlock(f"unknown frame tag {tag!r}: written by another version of Pyrite?")
    return int(size)


def _decode_frame(view: memoryview, writable: bool = False) -> list[Any]:
    return _load_pickle(view, _check_frame(view), writable)


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


def _bytes_view(data: memoryview | bytes) -> memoryview:
    view = memoryview(data)
    return view if view.format == "B" else view.cast("B")
