"""Groups of values by key, of one side or of several, as rows or as vectors."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from operator import length_hint
from typing import TYPE_CHECKING, Any

from pyrite.resultiterable import ResultIterable

if TYPE_CHECKING:
    from pyrite.machine._rows import CoGroups

# Objects that exist at a time: beside the vectors, they may be most of the memory.
_VALUES_PER_BATCH = 16_384
_MOST_KEYS_PER_BATCH = 1024


class GroupRows:
    """Rows of a key and its values, or its values in each side; the rest of them can be had as
    vectors."""

    def __init__(self, groups: CoGroups, layouts: tuple[str, ...], values: int) -> None:
        """`layouts` are those of the packed rows that were grouped, by side; `values` is how many
        there were."""
        self.groups = groups
        # How many values a key has, as a rule.
        self.values_each = max(1, values // max(1, len(groups)))
        fitting = _VALUES_PER_BATCH // self.values_each
        self._keys_per_batch = max(1, min(fitting, _MOST_KEYS_PER_BATCH))
        self.layouts = layouts
        self._values = tuple(layout[2:-1] for layout in layouts)
        self._batch: Iterator[Any] = iter(())
        self._next = 0
        self._rows = chain.from_iterable(self._batches())

    def from_group(self, number: int) -> Iterator[Any]:
        """The rows from one group on."""
        self._next = number
        return chain.from_iterable(self._batches())

    def _batches(self) -> Iterator[Iterator[Any]]:
        while self._next < len(self.groups):
            stop = min(self._next + self._keys_per_batch, len(self.groups))
            self._batch = iter(self.rows(self._next, stop))
            self._next = stop
            yield self._batch

    def __iter__(self) -> Iterator[Any]:
        # Not this object: whoever iterates shall not run Python for each row.
        return self._rows

    def __next__(self) -> Any:
        return next(self._rows)

    def rows(self, start: int, stop: int) -> list[Any]:
        """The rows of some groups."""
        lists = self.groups.lists(self._values, start, stop)
        if len(self.layouts) == 1:
            return [(key, ResultIterable(values)) for key, values in lists]
        return [(key, tuple(map(ResultIterable, sides))) for key, sides in lists]

    def read(self) -> int:
        """How many groups were read; the others can't be had from the iterator any more."""
        return self._next - length_hint(self._batch)
