"""What an RDD should hold, by plain Python evaluation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from row_functions import rank

Rows = list[Any]


class Plain:
    """Rows, and how much of their order is defined.

    `parts` is the layout where it is defined; `ordered` says that the order of rows is;
    `by_key` that only the order of their keys is.
    """

    def __init__(
        self,
        rows: Iterable[Any],
        parts: list[Rows] | None = None,
        ordered: bool = False,
        by_key: bool = False,
    ) -> None:
        self.rows = list(rows)
        self.parts = parts
        self.ordered = ordered or parts is not None
        self.by_key = by_key

    @classmethod
    def laid(cls, parts: list[Rows]) -> Plain:
        return cls(chain.from_iterable(parts), parts)

    @classmethod
    def sliced(cls, rows: Rows, count: int) -> Plain:
        """As `parallelize` cuts rows."""
        bounds = [len(rows) * i // count for i in range(count + 1)]
        return cls.laid([rows[bounds[i] : bounds[i + 1]] for i in range(count)])

    @property
    def is_pairs(self) -> bool:
        return all(isinstance(row, tuple) and len(row) == 2 for row in self.rows)

    def each(self, change: Callable[[Rows], Iterable[Any]]) -> Plain:
        """Every partition changed, where it does not matter how the rows are cut."""
        if self.parts is not None:
            return Plain.laid([list(change(part)) for part in self.parts])
        return Plain(change(self.rows), ordered=self.ordered)

    def groups(self) -> dict[Any, tuple[Any, Rows]]:
        """Keys and their values by the rank of the key."""
        found: dict[Any, tuple[Any, Rows]] = {}
        for key, value in self.rows:
            found.setdefault(rank(key), (key, []))[1].append(value)
        return found


def bag(rows: Iterable[Any]) -> Counter[Any]:
    """Rows whose order and types do not matter."""
    return Counter(map(rank, rows))


def assert_same(found: Iterable[Any], expected: Plain) -> None:
    """Compares as strictly as the order is defined."""
    rows = list(found)
    if expected.parts is not None:
        assert repr(rows) == repr(expected.rows)
    elif expected.ordered:
        assert [rank(row) for row in rows] == [rank(row) for row in expected.rows]
    else:
        assert bag(rows) == bag(expected.rows)
        if expected.by_key:
            assert [rank(key) for key, _ in rows] == [rank(key) for key, _ in expected.rows]
