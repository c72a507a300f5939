"""MapReduce as EclipseMR has it: map, combine, reduce, and results that later jobs reuse."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from pyrite import RDD

K = TypeVar("K")
V = TypeVar("V")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")


def mapreduce(
    rows: RDD[T],
    map: Callable[[T], Iterable[tuple[K, V]]],
    reduce: Callable[[K, Iterable[V]], R],
    *,
    combine: Callable[[V, V], V] | None = None,
    partitions: int | None = None,
    ordered: bool = False,
    reuse: str | None = None,
    ttl: float | None = None,
) -> RDD[tuple[K, R]]:
    """The result of `reduce` for each key that `map` gives for the rows.

    `combine` adds two values up where they are made, before they travel; `reduce` gets one value
    then. With `ordered` the keys come in order. With `reuse` what the maps have made is tagged, in
    one copy: the next job with the same rows and the same `map` and `combine` runs no map, whatever
    its `reduce`; `ttl` says for how many seconds.

    >>> lines = sc.parallelize(["to be", "or not to be"])
    >>> words = mapreduce(lines, lambda line: [(word, 1) for word in line.split()],
    ...                   lambda word, counts: sum(counts), combine=lambda a, b: a + b)
    >>> sorted(words.collect())
    [('be', 2), ('not', 1), ('or', 1), ('to', 2)]
    """
    pairs = rows.flatMap(map)
    if combine is not None:
        made = pairs.reduceByKey(combine, partitions)
    elif ordered:
        made = pairs
    else:
        made = pairs.partitionBy(partitions)
    if reuse is not None:
        made = made.tag(reuse, ttl, copies=1)
    if ordered:
        made = made.sortByKey(numPartitions=partitions)
    if combine is not None:
        return made.map(lambda pair: (pair[0], reduce(pair[0], [pair[1]])))
    if ordered:
        return made.mapPartitions(lambda found: _runs(found, reduce))
    grouped = made.groupByKey(made.getNumPartitions())
    return grouped.map(lambda pair: (pair[0], reduce(pair[0], pair[1])))


def iterate(
    state: RDD[S],
    step: Callable[[RDD[S]], RDD[S]],
    times: int,
    keep: str | None = None,
    ttl: float | None = None,
) -> RDD[S]:
    """The state after so many steps.

    With `keep` the output of each step is tagged `KEEP/1`, `KEEP/2` and so on: a program that was
    interrupted goes on after the last step that it had ended. Without it, outputs are cached.

    >>> iterate(sc.parallelize([1, 2]), lambda rows: rows.map(lambda row: row * 2), 3).collect()
    [8, 16]
    """
    for number in range(1, times + 1):
        made = step(state)
        state = made.cache() if keep is None else made.tag(f"{keep}/{number}", ttl)
    return state


def forget(state: RDD[Any], keep: str) -> None:
    """Removes the outputs of steps that `iterate` has kept."""
    names = [tag.name for tag in state.context.tags() if tag.name.startswith(f"{keep}/")]
    for name in names:
        state.context.untag(name)


def _runs(
    pairs: Iterable[tuple[K, V]], reduce: Callable[[K, Iterable[V]], R]
) -> Iterable[tuple[K, R]]:
    """Reduces pairs that are in the order of their keys."""
    from itertools import groupby
    from operator import itemgetter

    for key, run in groupby(pairs, itemgetter(0)):
        yield key, reduce(key, [value for _, value in run])
