"""Functions of rows that tasks call; rows that are equal give equal results.

Tasks import this module, so it needs nothing but the standard library and, where tasks meet,
their context. In a simulated cluster they share it: it keeps nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import is_dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any
from zlib import crc32

# Equal ones among them differ in type: True == 1 == 1.0.
KEYS = (None, True, 1, 1.0, 0, False, 2.5, "a", b"a", ("a", None), (1,), (True, 1.0), 1 << 70)


def rank(value: Any) -> tuple[Any, ...]:
    """Where a value stands among all of them; equal for equal values."""
    if value is None:
        return (0,)
    if isinstance(value, int | float | Decimal | Fraction):
        return (1, number(value))
    if isinstance(value, str):
        return (2, value)
    if isinstance(value, bytes):
        return (3, value)
    if isinstance(value, tuple):
        return (4, tuple(map(rank, value)))
    return odd_rank(value)


def as_tuples(value: Any) -> Any:
    return tuple(map(as_tuples, value)) if isinstance(value, list) else value


def number(value: Any) -> Any:
    """One of all equal numbers, whatever their types."""
    if value in (math.inf, -math.inf):
        return value
    if value == int(value):
        return int(value)
    if isinstance(value, float):
        return value
    exact = Fraction(value)
    return float(exact) if float(exact) == exact else exact


def odd_rank(value: Any) -> tuple[Any, ...]:
    if isinstance(value, frozenset | set):
        return (5, tuple(sorted(map(rank, value))))
    if isinstance(value, datetime):
        return (6, value.astimezone(UTC).isoformat())
    if isinstance(value, Enum):
        return (7, type(value).__name__, value.name)
    if hasattr(value, "tolist"):
        # Of numpy's, a scalar or an array.
        if value.shape and not value.dtype.hasobject:
            # Whole: number by number, those of 140,000 take most of a test's time.
            return (10, value.shape, value.dtype.str, value.tobytes())
        return rank(as_tuples(value.tolist()))
    text = repr(value)
    if " at 0x" not in text and not is_dataclass(value):
        return (9, type(value).__name__, text)
    return (8, type(value).__name__, tuple(map(rank, getattr(value, "__dict__", {}).values())))


def digest(value: Any) -> int:
    """A small number that looks random."""
    return crc32(repr(rank(value)).encode()) % 1009


def key_of(value: Any) -> Any:
    return KEYS[digest(value) % len(KEYS)]


def keyed(value: Any) -> tuple[Any, Any]:
    return key_of(value), value


def paired(value: Any) -> tuple[Any, int]:
    return value, digest(value) % 7


def few_keys(value: Any) -> tuple[int, int]:
    found = digest(value)
    return found % 3, found


def swapped(value: Any) -> tuple[int, Any]:
    return digest(value) % 5, (value, None)


MAPS: dict[str, Callable[[Any], Any]] = {
    "digest": digest,
    "few_keys": few_keys,
    "key_of": key_of,
    "keyed": keyed,
    "paired": paired,
    "swapped": swapped,
}


def is_chosen(value: Any) -> bool:
    return digest(value) % 3 != 0


def repeated(value: Any) -> list[Any]:
    return [value] * (digest(value) % 3)


def spelled(value: Any) -> Iterator[Any]:
    """Several rows of different types, as a generator."""
    yield value
    if digest(value) % 2:
        yield None
        yield (value, digest(value))


FLAT_MAPS: dict[str, Callable[[Any], Iterable[Any]]] = {"repeated": repeated, "spelled": spelled}


def one(value: Any) -> int:
    return 1


def larger(left: Any, right: Any) -> Any:
    return max(left, right, key=rank)


def smaller(left: Any, right: Any) -> Any:
    return min(left, right, key=rank)


def in_order(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(sorted(values, key=rank))


def groups_in_order(groups: Iterable[Iterable[Any]]) -> tuple[tuple[Any, ...], ...]:
    return tuple(map(in_order, groups))


def count_in(total: tuple[int, int], value: Any) -> tuple[int, int]:
    return total[0] + 1, total[1] + digest(value)


def add_counts(left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
    return left[0] + right[0], left[1] + right[1]


def alone(value: Any) -> tuple[Any, ...]:
    return (value,)


def with_one_more(values: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    return (*values, value)


def reversed_rows(rows: Iterable[Any]) -> list[Any]:
    """A partition back to front."""
    return list(rows)[::-1]


def each_digest(rows: Iterable[Any]) -> Iterator[int]:
    return map(digest, rows)


def numbered(index: int, rows: Iterable[Any]) -> Iterator[tuple[int, Any]]:
    return ((index, row) for row in rows)


def length(index: int, rows: Iterable[Any]) -> list[tuple[int, int]]:
    return [(index, sum(1 for _ in rows))]


def sorted_by_key(rows: Iterable[Any]) -> list[Any]:
    """The rows, if they are sorted by key."""
    found = list(rows)
    ranks = [rank(key) for key, _ in found]
    assert ranks == sorted(ranks), f"a partition is not sorted: {found}"
    return found


def gathered(rows: Iterable[Any]) -> str:
    """What a task tells the others of its partition."""
    digests = list(map(digest, rows))
    return f"{len(digests)} rows: {sum(digests)}"


def met(rows: Iterable[Any]) -> Iterable[Any]:
    """The rows, after all tasks of the stage have met."""
    from pyrite import BarrierTaskContext

    BarrierTaskContext.get().barrier()
    return rows


def all_met(index: int, rows: Iterable[Any]) -> list[tuple[int, tuple[str, ...]]]:
    """What all tasks of the stage say, the second time they meet."""
    from pyrite import BarrierTaskContext

    task = BarrierTaskContext.get()
    task.barrier()
    return [(index, tuple(task.allGather(gathered(rows))))]


class Hungry:
    """A row for whose pickling there is not enough memory."""

    def __reduce__(self) -> str:
        raise MemoryError


def hungry(row: Any) -> Hungry:
    return Hungry()
