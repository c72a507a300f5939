"""What an RDD should hold, by plain Python evaluation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import cached_property
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
    def sliced(cls, rows: Rows, count: int, batch: int = 1) -> Plain:
        """As `range` cuts numbers, or whole batches of rows."""
        batches = [rows[i : i + batch] for i in range(0, len(rows), batch)]
        bounds = [len(batches) * i // count for i in range(count + 1)]
        parts = [batches[bounds[i] : bounds[i + 1]] for i in range(count)]
        return cls.laid([list(chain.from_iterable(part)) for part in parts])

    @classmethod
    def dealt(cls, rows: Rows, count: int) -> Plain:
        """As `parallelize` deals rows: in batches as large as a slice, of 1,024 at most."""
        return cls.sliced(rows, count, batch=max(1, min(len(rows) // count, 1024)))

    @cached_property
    def is_pairs(self) -> bool:
        return all(isinstance(row, tuple) and len(row) == 2 for row in self.rows)

    @cached_property
    def weight(self) -> int:
        """How many plain values the rows consist of, a long string counting as several."""
        total = 0
        pending: list[Any] = [self.rows]
        while pending:
            for value in pending.pop():
                if isinstance(value, tuple):
                    pending.append(value)
                elif isinstance(value, str | bytes):
                    total += len(value) // 100
                # Tuples count themselves, so that many empty ones weigh something too.
                total += 1
        return total

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


def expect(what: str, found: Any, expected: Any) -> None:
    """Fails with both sides in the message, whoever runs it."""
    if found != expected:
        raise AssertionError(f"{what}: {found!r} instead of {expected!r}")


def expect_among(what: str, found: Iterable[Any], rows: Iterable[Any]) -> None:
    """Fails where something was found more often than it is there."""
    if more := bag(found) - bag(rows):
        raise AssertionError(f"{what}: {dict(more)!r} should not be there")


def expect_refusal(what: str, call: Callable[[], object], kind: type[Exception], word: str) -> None:
    """Fails unless the call raises this kind of error with the word in its message."""
    try:
        found = call()
    except kind as error:
        if word not in str(error):
            raise
    else:
        raise AssertionError(f"{what}: {found!r} instead of a {kind.__name__}")


def expect_rows(what: str, found: Iterable[Any], expected: Plain) -> None:
    """Compares as strictly as the order is defined."""
    rows = list(found)
    if expected.parts is not None:
        expect(what, repr(rows), repr(expected.rows))
    elif expected.ordered:
        expect(what, list(map(rank, rows)), list(map(rank, expected.rows)))
    else:
        expect(what, bag(rows), bag(expected.rows))
        if expected.by_key:
            keys = [rank(key) for key, _ in expected.rows]
            expect(f"keys of {what}", [rank(key) for key, _ in rows], keys)
