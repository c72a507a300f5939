"""Rows to pickles: plain rows without a memo, all others with one.

The memo is what keeps two references to one object one object. CPython's pickler can leave it out
(`fast`), which is right only where nobody can tell: where nothing in the rows can change. So rows
are pickled without it by a pickler that takes nothing but exact builtins; then their hash says, in
C and for every one of them, whether a list, dict, set or bytearray lies anywhere inside. Measured
with 20,000 rows, in ms:

    rows                     no memo + hash   memo      reading them, without and with
    (str, int)               0.87 + 0.47      2.26      2.06  2.35
    (int, (int, float))      1.24 + 0.61      3.20      3.77  3.55
    str of 8 characters      0.43 + 0.33      1.06      0.68  0.69
    str of 100 characters    1.06 + 0.79      2.45      1.16  1.39
    int                      0.22 + 0.12      0.24      0.32  0.32
    [int, int]               0.84 (wrong)     1.50      3.02  3.19

Without a memo a string that many rows share is written once for each. So rows whose values are
long get a memo too: it costs them little, and nothing takes much more room than in memory.

A memo of more than some thousand rows outgrows the processor's caches: 200,000 pairs took 86 ms at
once and 23 ms in pickles of 4,096 rows each.
"""

import pickle
from typing import Any, NamedTuple

# Fewer rows than these are pickled as fast with a memo.
FEWEST_PLAIN_ROWS = 64
# Of so many rows the first ones are tried alone, as most rows are alike.
_TRIED_ROWS = 4096
# Rows whose values take more than this on average get a memo.
_PLAIN_BYTES = 64
_TEXTS = {str, bytes}
# A list of all rows of a partition is a row of a result, and with `glom` a row of such a list.
_WRAPPED = 2
# Below this a buffer is cheaper to copy than to align and to list.
_OUT_OF_BAND_BYTES = 4096


class Unpicklable(pickle.PicklingError, TypeError):
    """Something that leaves its process, or is kept encoded, can't be pickled."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"{self.reason}: rows that are sent, shuffled or kept are pickled; make a list of an "
            "iterator, and open files and connections in the task that uses them"
        )


class Pickled(NamedTuple):
    """A pickle in pieces, and the large buffers that lie beside it."""

    pieces: list[bytes]
    beside: list[memoryview]


def pickle_plain(rows: list[Any]) -> Pickled | None:
    """A pickle without a memo, or None where these rows need one, or hardly gain without."""
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
        # Only now: these are exact builtins, whose hash calls nobody, and not too deeply nested.
        if not _are_texts(bare):
            hash(tuple(bare))
    except Exception:
        # Whatever it was, such as more than 48 frozensets, from which CPython's `fast` does not
        # find back: the full pickler knows better.
        return None
    return Pickled(sink.pieces, [])


def pickle_by_reference(rows: list[Any]) -> Pickled | None:
    """A pickle that names classes and functions, or None where another process can't find them."""
    sink, keeper = _Pieces(), _BufferKeeper()
    try:
        pickle.Pickler(sink, protocol=5, buffer_callback=keeper).dump(rows)
    except MemoryError:
        raise
    except Exception:
        return None  # cloudpickle knows more types, and its error is the one to show
    # What __main__ defines can be named here, but not in another process.
    if any(b"__main__" in piece for piece in sink.pieces):
        return None
    return Pickled(sink.pieces, keeper.kept)


def pickle_by_value(rows: list[Any]) -> Pickled:
    """A pickle that holds the classes and functions of __main__."""
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
    """The rows within lists that hold nothing else, which therefore nobody shares."""
    for _ in range(_WRAPPED):
        if len(rows) == 1 and type(rows[0]) is list:
            rows = rows[0]
    return rows


def _are_texts(rows: list[Any]) -> bool:
    """Whether the rows are strings or bytes: long ones take longer to hash than their types."""
    return type(rows[0]) in _TEXTS and set(map(type, rows)) <= _TEXTS


class _NotPlain(Exception):
    """A value that is no plain builtin, or rows that take more than they should."""


def _refuse(value: Any) -> Any:
    raise _NotPlain


class _PlainPickler(pickle.Pickler):
    """Pickles plain builtins and refuses everything else."""

    def reducer_override(self, value: Any) -> Any:
        # Called for all but exact builtins.
        raise _NotPlain


class _Pieces:
    """The file a pickler writes to: keeps the pieces."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def write(self, piece: bytes | memoryview) -> None:
        # A piece may also be a view into a string's own memory, without a hold on the string.
        self.pieces.append(piece if type(piece) is bytes else bytes(piece))


class _LimitedPieces(_Pieces):
    """Stops a pickler where its values turn out to be long."""

    def __init__(self, rows: list[Any]) -> None:
        super().__init__()
        self._rows = rows
        self._size = 0
        # Each row is one value and a place for it, at least.
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
    """How many values the rows have: they themselves, what they hold, and what that holds."""
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
