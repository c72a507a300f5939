"""Actions on (key, value) rows."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import TypeVar

from pyrite.bounded.aggregate import Aggregator
from pyrite.hashing import HashUnknownHere
from pyrite.rdd import functions
from pyrite.rdd.actions import EMPTY, Actions
from pyrite.rdd.narrow import CombineLocally, CountLocally
from pyrite.rdd.stops import StopIsError

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class KeyedActions(Actions[T]):
    """Dicts of what the keys have, and the values of one key."""

    def collectAsMap(self: KeyedActions[tuple[K, V]]) -> dict[K, V]:
        """The pairs as a dict, the last value of each key.

        >>> sc.parallelize([(1, 2), (3, 4)]).collectAsMap()
        {1: 2, 3: 4}
        """
        return dict(self.collect())

    def countByKey(self: KeyedActions[tuple[K, V]]) -> dict[K, int]:
        """How many values each key has.

        >>> sorted(sc.parallelize([("a", 1), ("b", 1), ("a", 1)]).countByKey().items())
        [('a', 2), ('b', 1)]
        """
        return self._counts(CountLocally(by_key=True))

    def reduceByKeyLocally(
        self: KeyedActions[tuple[K, V]], func: Callable[[V, V], V]
    ) -> dict[K, V]:
        """One value per key, reduced from its values, as a dict.

        >>> from operator import add
        >>> sorted(sc.parallelize([("a", 1), ("b", 1), ("a", 1)]).reduceByKeyLocally(add).items())
        [('a', 2), ('b', 1)]
        """
        local = self._derive(CombineLocally(Aggregator(functions.identity, func, func)))
        parts = self.ctx._run_rows(local, functions.gather)
        if not parts:
            raise ValueError(EMPTY)
        with StopIsError():
            return functions.reduce_by_key(func, 0, chain.from_iterable(parts))

    def lookup(self: KeyedActions[tuple[K, V]], key: K) -> list[V]:
        """The values of a key; reads one partition only where the partitioner is known.

        >>> rdd = sc.parallelize(zip(range(1000), range(1000)), 10).sortByKey()
        >>> rdd.lookup(42), rdd.lookup(1024)
        ([42], [])
        """
        partitions = None
        if self.partitioner is not None:
            # Only an executor can hash some keys; then every partition is asked.
            with suppress(HashUnknownHere):
                partitions = [self.partitioner(key)]
        values = partial(functions.values_where_key, key)
        parts = self.ctx._run_rows(self._me(), values, partitions)
        return list(chain.from_iterable(parts))
