"""The seven applications of EclipseMR's evaluation, by MapReduce."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from operator import add

from pyrite import RDD
from pyrite.lib.mapreduce import iterate, mapreduce

Vector = tuple[float, ...]
WORD = re.compile(r"\w+")
DAMPING = 0.85


def word_count(lines: RDD[str], reuse: str | None = None) -> RDD[tuple[str, int]]:
    """How often each word occurs.

    >>> sorted(word_count(sc.parallelize(["a b", "a"])).collect())
    [('a', 2), ('b', 1)]
    """
    return mapreduce(
        lines,
        lambda line: [(word, 1) for word in WORD.findall(line)],
        lambda _, counts: sum(counts),
        combine=add,
        reuse=reuse,
    )


def inverted_index(
    documents: RDD[tuple[str, str]], reuse: str | None = None
) -> RDD[tuple[str, list[str]]]:
    """The names of the documents, in order, that each word occurs in.

    >>> index = inverted_index(sc.parallelize([("x", "a b"), ("y", "a")]))
    >>> sorted(index.collect())
    [('a', ['x', 'y']), ('b', ['x'])]
    """
    return mapreduce(
        documents,
        lambda document: [(word, document[0]) for word in {*WORD.findall(document[1])}],
        lambda _, names: sorted(names),
        reuse=reuse,
    )


def grep(lines: RDD[str], pattern: str, reuse: str | None = None) -> RDD[tuple[str, int]]:
    """The lines in which a pattern is found, and how often each line occurs.

    >>> grep(sc.parallelize(["an error", "fine", "an error"]), "err").collect()
    [('an error', 2)]
    """
    return mapreduce(
        lines,
        lambda line: [(line, 1)] if re.search(pattern, line) else [],
        lambda _, counts: sum(counts),
        combine=add,
        reuse=reuse,
    )


def sort(lines: RDD[str], reuse: str | None = None) -> RDD[str]:
    """The lines in order.

    >>> sort(sc.parallelize(["b", "a", "b"])).collect()
    ['a', 'b', 'b']
    """
    made = mapreduce(
        lines, lambda line: [(line, 1)], lambda _, ones: sum(ones), ordered=True, reuse=reuse
    )
    return made.flatMap(lambda pair: [pair[0]] * pair[1])


def page_rank(
    links: RDD[tuple[str, Sequence[str]]], times: int = 2, keep: str | None = None
) -> RDD[tuple[str, float]]:
    """The ranks of pages after some rounds; each page comes once, with those that it links to.

    >>> ranks = page_rank(sc.parallelize([("a", ["b"]), ("b", ["a"])]), times=3)
    >>> sorted((page, round(rank, 3)) for page, rank in ranks.collect())
    [('a', 1.0), ('b', 1.0)]
    """

    def shares(page: tuple[str, tuple[Sequence[str], float]]) -> Iterable[tuple[str, float]]:
        name, (targets, rank) = page
        # A page that nobody links to has a rank all the same.
        yield name, 0.0
        for target in targets:
            yield target, rank / len(targets)

    def step(ranks: RDD[tuple[str, float]]) -> RDD[tuple[str, float]]:
        return mapreduce(
            links.join(ranks),
            shares,
            lambda _, given: 1 - DAMPING + DAMPING * sum(given),
            combine=add,
        )

    return iterate(links.mapValues(lambda _: 1.0), step, times, keep)


def k_means(
    points: RDD[Vector], centers: Sequence[Vector], times: int = 5, keep: str | None = None
) -> list[Vector]:
    """The centers of clusters after some rounds; a cluster without points keeps its center.

    >>> k_means(sc.parallelize([(0.0,), (1.0,), (9.0,)]), [(0.0,), (5.0,)], times=2)
    [(0.5,), (9.0,)]
    """

    def step(state: RDD[tuple[int, Vector]]) -> RDD[tuple[int, Vector]]:
        known = [center for _, center in sorted(state.collect())]

        def nearest(point: Vector) -> list[tuple[int, tuple[Vector, int]]]:
            away = [math.dist(point, center) for center in known]
            return [(away.index(min(away)), (point, 1))]

        def added(a: tuple[Vector, int], b: tuple[Vector, int]) -> tuple[Vector, int]:
            return tuple(map(add, a[0], b[0])), a[1] + b[1]

        def mean(_: int, sums: Iterable[tuple[Vector, int]]) -> Vector:
            [(total, count)] = sums
            return tuple(each / count for each in total)

        moved = mapreduce(points, nearest, mean, combine=added, partitions=1).collect()
        merged = {**dict(enumerate(known)), **dict(moved)}
        return state.context.parallelize(sorted(merged.items()), 1)

    first = points.context.parallelize(list(enumerate(centers)), 1)
    return [center for _, center in sorted(iterate(first, step, times, keep).collect())]


def logistic_regression(
    points: RDD[tuple[float, Vector]], times: int = 10, rate: float = 1.0, keep: str | None = None
) -> Vector:
    """The weights that tell points labelled 1 from those labelled -1, after some rounds.

    >>> found = logistic_regression(sc.parallelize([(1.0, (2.0,)), (-1.0, (-1.0,))]), times=3)
    >>> found[0] > 0
    True
    """

    def step(state: RDD[Vector]) -> RDD[Vector]:
        [weights] = state.collect()

        def gradient(point: tuple[float, Vector]) -> list[tuple[int, Vector]]:
            label, values = point
            sign = label * sum(w * x for w, x in zip(weights, values, strict=True))
            factor = (1 / (1 + math.exp(-sign)) - 1) * label
            return [(0, tuple(factor * value for value in values))]

        def total(_: int, parts: Iterable[Vector]) -> Vector:
            [sums] = parts
            return sums

        found = mapreduce(
            points, gradient, total, combine=lambda a, b: tuple(map(add, a, b)), partitions=1
        )
        [(_, slope)] = found.collect()
        moved = tuple(w - rate * g for w, g in zip(weights, slope, strict=True))
        return state.context.parallelize([moved], 1)

    dimensions = len(points.first()[1])
    first = points.context.parallelize([(0.0,) * dimensions], 1)
    [weights] = iterate(first, step, times, keep).collect()
    return weights
