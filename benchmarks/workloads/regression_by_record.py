"""Logistic regression, one point a record: five gradient steps over cached points."""

from collections.abc import Callable
from functools import reduce
from math import exp
from operator import add, mul
from typing import Any

from benchmarks.data import DataFolder
from benchmarks.pair import Pair, lines_of_half
from benchmarks.stopwatch import Stopwatch

ROWS = ("logistic regression by record",)
POINTS = {"small": 4_000, "standard": 200_000}
DIMENSIONS = 10
STEPS = 5
Vector = list[float]
Point = tuple[float, tuple[float, ...]]


def inputs(data: DataFolder, scale: str) -> tuple[str, int]:
    return data.labelled_points(POINTS[scale], DIMENSIONS), POINTS[scale]


def point_of(line: str) -> Point:
    label, *coordinates = map(float, line.split(" "))
    return label, tuple(coordinates)


def gradient_at(weights: Vector) -> Callable[[Point], Vector]:
    def gradient(point: Point) -> Vector:
        label, coordinates = point
        factor = (1 / (1 + exp(-label * sum(map(mul, weights, coordinates)))) - 1) * label
        return [factor * coordinate for coordinate in coordinates]

    return gradient


def added(left: Vector, right: Vector) -> Vector:
    return list(map(add, left, right))


def stepped(weights: Vector, gradient: Vector, count: int) -> Vector:
    return [weight - 0.5 * slope / count for weight, slope in zip(weights, gradient, strict=True)]


def rdd(sc: Any, source: tuple[str, int], watch: Stopwatch) -> Any:
    path, count = source
    points = sc.textFile(path).map(point_of).cache()
    assert points.count() == count
    weights = [0.0] * DIMENSIONS
    with watch.timed(ROWS[0]):
        for _ in range(STEPS):
            weights = stepped(weights, points.map(gradient_at(weights)).reduce(added), count)
    return weights


def hand(source: tuple[str, int], watch: Stopwatch) -> Any:
    path, count = source
    with Pair(_descend_half, path) as pair:
        assert sum(pair.ask()) == count
        weights = [0.0] * DIMENSIONS
        with watch.timed(ROWS[0]):
            for _ in range(STEPS):
                weights = stepped(weights, added(*pair.ask(weights)), count)
    return weights


def _descend_half(peer: Any, path: str) -> Any:
    points = list(map(point_of, lines_of_half(path, peer.index)))
    weights = yield len(points)
    while True:
        weights = yield reduce(added, map(gradient_at(weights), points))
