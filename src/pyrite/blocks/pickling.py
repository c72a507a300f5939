"""Rows to pickles: plain rows without a memo, all others with one.

The memo preserves identity: two references to one object stay one object. CPython's pickler can
omit it (`fast`), which is correct only for immutable values, where identity can't be observed. So
a pickler that accepts only exact builtins pickles rows without it; then hashing the rows, in C,
fails if one contains a list, dict, set or bytearray. Measured with 20,000 rows, in ms:

    rows                     no memo + hash   memo      reading them, without and with
    (str, int)               0.87 + 0.47      2.26      2.06  2.35
    (int, (int, float))      1.24 + 0.61      3.20      3.77  3.55
    str of 8 characters      0.43 + 0.33      1.06      0.68  0.69
    str of 100 characters    1.06 + 0.79      2.45      1.16  1.39
    int                      0.22 + 0.12      0.24      0.32  0.32
    [int, int]               0.84 (wrong)     1.50      3.02  3.19

Without a memo, a string that many rows share is written once per row. So rows with long values get
a memo too: it costs them little, and no block is much larger than its rows in memory.

A memo of more than some thousand rows outgrows the processor's caches: 200,000 pairs took 86 ms at
once and 23 ms in pickles of 4,096 rows each.
"""

import pickle
from typing import Any, NamedTuple

# Fewer rows than this are pickled as fast with a memo.
FEWEST_PLAIN_ROWS = 64
# With at least this many rows, the first ones are tried alone, since most rows are similar.
_TRIED_ROWS = 4096
# Rows whose values take more than this on average get a memo.
_PLAIN_BYTES = 64
_TEXTS = {str, bytes}
# How many levels of lists may wrap the rows: a result is a list of a partition's rows, and `glom`
# adds another.
_WRAPPED = 2
# Smaller buffers are cheaper to copy than to align and list.
_OUT_OF_BAND_BYTES = 4096


class Unpicklable(pickle.PicklingError, TypeError):
    """A value that must be sent or kept encoded can't be pickled."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"{self.reason}: rows that are sent, shuffled or kept are pickled; make a list of an "
            "iterator, and open files and connections in the task that uses them"
        )


class Pickled(NamedTuple):
    """A pickle in pieces, and the large buffers beside it."""

    pieces: list[bytes]
    beside: list[memoryview]


def pickle_plain(rows: list[Any]) -> Pickled | None:
    """Pickles rows without a memo; returns None where they need one, or hardly gain without."""
    bare = _unwrapped(rows)
    if len(bare) < FEWEST_PLAIN_ROWS:
        return None
    if len(bare) >= _TRIED_ROWS and pickle_plain(bare[:FEWEST_PLAIN_ROWS]) is None:
        return None
    sink = _LimitedPieces(bare)
    pickler = _PlainPickler(sink, protocol=5, buffer_callback=_refuse)
    pickler.fast = True
    try:
        pickler.dump(rows)
        # After the dump these are known to be exact builtins, not too deeply nested, whose hash
        # runs no user code.
        if not _are_texts(bare):
            hash(tuple(bare))
    except Exception:
        # For example, CPython's `fast` does not recover from more than 48 frozensets. Leave all
        # errors to the full pickler.
        return None
    return Pickled(sink.pieces, [])


def pickle_by_reference(rows: list[Any]) -> Pickled | None:
    """Pickles classes and functions by name; returns None where another process can't find them."""
    sink, keeper = _Pieces(), _BufferKeeper()
    try:
        pickle.Pickler(sink, protocol=5, buffer_callback=keeper).dump(rows)
    except MemoryError:
        raise
    except Exception:
        return None  # cloudpickle knows more types, and its error is the one to show
    # Definitions of __main__ can't be found by name in another process.
    if any(b"__main__" in piece for piece in sink.pieces):
        return None
    return Pickled(sink.pieces, keeper.kept)


def pickle_by_value(rows: list[Any]) -> Pickled:
    """Pickles classes and functions of __main__ by value."""
    import cloudpickle

    keeper = _BufferKeeper()
    try:
        pickled = cloudpickle.dumps(rows, protocol=5, buffer_callback=keeper)
    except MemoryError:
        raise
    except Exception as error:
        raise Unpicklable(error) from error
    return Pickled([pickled], keeper.kept)


def _unwrapped(rows: list[Any]) -> list[Any]:
    """Unwraps rows from lists that hold nothing else, and so are not shared."""
    for _ in range(_WRAPPED):
        if len(rows) == 1 and type(rows[0]) is list:
            rows = rows[0]
    return rows


def _are_texts(rows: list[Any]) -> bool:
    """Whether all rows are strings or bytes: hashing long ones takes longer than checking types."""
    return type(rows[0]) in _TEXTS and set(map(type, rows)) <= _TEXTS


class _NotPlain(Exception):
    """Raised for a value that is not a plain builtin, or rows that are too large."""


def _refuse(value: Any) -> Any:
    raise _NotPlain


class _PlainPickler(pickle.Pickler):
    """Pickles plain builtins and refuses everything else."""

    def reducer_override(self, value: Any) -> Any:
        # Called for everything but exact builtins.
        raise _NotPlain


class _Pieces:
    """A pickler's output file: keeps the pieces."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def write(self, piece: bytes | memoryview) -> None:
        # A piece may be a view into a string's memory that does not keep the string alive.
        self.pieces.append(piece if type(piece) is bytes else bytes(piece))


class _LimitedPieces(_Pieces):
    """Stops a pickler where values turn out to be long."""

    def __init__(self, rows: list[Any]) -> None:
        super().__init__()
        self._rows = rows
        self._size = 0
        # Each row counts as at least two values: itself and its entry in the list.
        self._limit = 2 * _PLAIN_BYTES * len(rows)
        self._is_counted = False

    def write(self, piece: bytes | memoryview) -> None:
        self._size += len(piece)
        if self._size > self._limit and not self._is_counted:
            self._limit = _PLAIN_BYTES * _count_values(self._rows)
            self._is_counted = True
        if self._size > self._limit:
            raise _NotPlain
        super().write(piece)


def _count_values(rows: list[Any]) -> int:
    """Counts the rows, their values, and the values of these."""
    count = 2 * len(rows)
    for row in rows:
        if type(row) is tuple:
            for value in row:
                count += len(value) if type(value) is tuple else 1
    return count


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
