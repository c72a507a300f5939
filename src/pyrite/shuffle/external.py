"""PySpark's mergers and sorters by name: rows by key and in order, on disk beyond a limit."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pyrite.bounded.aggregate import Aggregator, Combining, Fold, combiner_fold, value_fold
from pyrite.bounded.processmemory import private_bytes
from pyrite.bounded.sort import sort_rows
from pyrite.bounded.space import Space
from pyrite.rdd.stops import fail_on_stopiteration

_MEBIBYTE = 1 << 20


class MergeFunctions:
    """How values become a combiner: from the first value, with one more, and from two combiners."""

    def __init__(
        self,
        createCombiner: Callable[[Any], Any],
        mergeValue: Callable[[Any, Any], Any],
        mergeCombiners: Callable[[Any, Any], Any],
    ) -> None:
        self.createCombiner = fail_on_stopiteration(createCombiner)
        self.mergeValue = fail_on_stopiteration(mergeValue)
        self.mergeCombiners = fail_on_stopiteration(mergeCombiners)


class SimpleAggregator(MergeFunctions):
    """One function for all, where a combiner is what a value is."""

    def __init__(self, combiner: Callable[[Any, Any], Any]) -> None:
        super().__init__(lambda value: value, combiner, combiner)


class Merger:
    """What combines rows by their keys."""

    def __init__(self, aggregator: Any) -> None:
        self.agg = aggregator

    def mergeValues(self, iterator: Iterable[tuple[Any, Any]]) -> None:
        """Adds values."""
        raise NotImplementedError

    def mergeCombiners(self, iterator: Iterable[tuple[Any, Any]]) -> None:
        """Adds combiners."""
        raise NotImplementedError

    def items(self) -> Iterator[tuple[Any, Any]]:
        """One combiner for each key."""
        raise NotImplementedError


class ExternalMerger(Merger):
    """Combines rows in memory, and through files where the process has more than a limit in MiB.

    ``serializer``, ``scale``, ``partitions`` and ``batch`` are accepted and not used.

    >>> merger = ExternalMerger(SimpleAggregator(lambda left, right: left + right), 10)
    >>> merger.mergeValues((number % 3, number) for number in range(10000))
    >>> merger.mergeCombiners([(2, 1)])
    >>> sorted(merger.items())
    [(0, 16668333), (1, 16661667), (2, 16665001)]
    """

    def __init__(
        self,
        aggregator: Any,
        memory_limit: float = 512,
        serializer: Any = None,
        localdirs: list[str] | None = None,
        scale: int = 1,
        partitions: int = 59,
        batch: int = 1000,
    ) -> None:
        super().__init__(aggregator)
        self.memory_limit = memory_limit
        self._space = space_of(memory_limit, localdirs)
        functions: Aggregator[Any, Any] = Aggregator(
            aggregator.createCombiner, aggregator.mergeValue, aggregator.mergeCombiners
        )
        self._values = value_fold(functions)
        self._combiners = combiner_fold(functions.merge_combiners)
        self._combining = Combining(self._values, functions.merge_combiners, self._space)

    def mergeValues(self, iterator: Iterable[tuple[Any, Any]]) -> None:
        self._add(iterator, self._values)

    def mergeCombiners(
        self, iterator: Iterable[tuple[Any, Any]], limit: float | None = None
    ) -> None:
        self._add(iterator, self._combiners)

    def items(self) -> Iterator[tuple[Any, Any]]:
        found = self._combining.results()
        return _closing(self._space, found) if self._combining.has_spilled else found

    def _add(self, rows: Iterable[tuple[Any, Any]], fold: Fold) -> None:
        self._combining.fold = fold
        try:
            self._combining.add(rows)
        finally:
            # Files that are open can still be read and written.
            self._space.close()


class ExternalSorter:
    """Sorts rows in memory, and through files where the process has more than a limit in MiB.

    >>> ExternalSorter(10).sorted(["b", "c", "a"], key=ord, reverse=True)
    ['c', 'b', 'a']
    """

    def __init__(self, memory_limit: float, serializer: Any = None) -> None:
        self.memory_limit = memory_limit

    def sorted(
        self,
        iterator: Iterable[Any],
        key: Callable[[Any], Any] | None = None,
        reverse: bool = False,
    ) -> Iterable[Any]:
        """The rows in order: a list where all of them fit."""
        space = space_of(self.memory_limit)
        try:
            rows = sort_rows(iterator, key, reverse, space)
        finally:
            space.close()
        return rows if space.spilled_bytes else list(rows)


def get_used_memory() -> int:
    """How many MiB this process has for itself, without what it shares with others."""
    return private_bytes() // _MEBIBYTE


def space_of(memory_limit: float, folders: list[str] | None = None) -> Space:
    """The bounds that PySpark's arguments tell: MiB of the whole process, and folders for files."""
    folders = folders or os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
    folder = folders[0] or tempfile.gettempdir()
    return Space(int(memory_limit * _MEBIBYTE), folder)


def _closing(space: Space, rows: Iterator[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    try:
        yield from rows
    finally:
        space.close()
