"""The values that traced functions took from outside, and whether they are still the same."""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Any, NamedTuple

_CHANGING = (list, set, dict)
_CONTAINERS = (tuple, frozenset, *_CHANGING)
# Of a longer container the tracer asks only whether it is empty.
_MOST_ITEMS = 256
_DEEPEST = 8


class Captured(NamedTuple):
    """A value as it was: for a container that can change with its size, and with its items, or
    keys, if they are not many. `inner` are items that can change."""

    value: Any
    size: int | None = None
    items: tuple[Any, ...] = ()
    inner: tuple[Captured, ...] = ()

    def is_same(self, now: Any) -> bool:
        """Whether this is what the value is now."""
        if now is not self.value:
            return False
        if self.size is not None and not (len(now) == self.size and all(map(is_, self.items, now))):
            return False
        return all(each.is_same(each.value) for each in self.inner)


def held(value: Any, depth: int = 0) -> Captured:
    """A value as it is now.

    >>> rows = [1, [2]]
    >>> before = held(rows)
    >>> rows[1].append(3)
    >>> before.is_same(rows)
    False
    """
    if type(value) not in _CONTAINERS:
        return Captured(value)
    size = len(value) if type(value) in _CHANGING else None
    if len(value) > _MOST_ITEMS or depth == _DEEPEST:
        return Captured(value, size)
    all_inner = (held(each, depth + 1) for each in value if type(each) in _CONTAINERS)
    inner = tuple(each for each in all_inner if each.size is not None or each.inner)
    return Captured(value, size, () if size is None else tuple(value), inner)


class Captures:
    """What a program's functions captured.

    A row that the interpreter runs takes ways through the functions that were not traced, and may
    change a variable that the program holds to be constant.
    """

    def __init__(self) -> None:
        self._held: list[tuple[Callable[[], Any], Captured]] = []

    def note(self, read: Callable[[], Any]) -> Any:
        """Returns a captured value, which `read` returns, and remembers what it is."""
        value = read()
        self._held.append((read, held(value)))
        return value

    def are_unchanged(self) -> bool:
        """Whether all of them are what they were when they were noted."""
        try:
            return all(before.is_same(read()) for read, before in self._held)
        except (LookupError, ValueError):
            # A variable was deleted.
            return False
