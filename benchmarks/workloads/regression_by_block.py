"""Logistic regression on numpy blocks: ten gradient steps over cached matrices."""

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import DataFolder
from benchmarks.pair import Pair, half
from benchmarks.stopwatch import Stopwatch

ROWS = ("logistic regression by numpy block",)
POINTS = {"small": 8_000, "standard": 800_000}
DIMENSIONS = 10
STEPS = 10
BLOCKS = 8
Matrix = NDArray[np.float64]


def inputs(data: DataFolder, scale: str) -> tuple[str, int]:
    return data.labelled_matrix(POINTS[scale], DIMENSIONS), POINTS[scale]


def reader_of(path: str, count: int) -> Callable[[int], Matrix]:
    def block(index: int) -> Matrix:
        rows = count // BLOCKS
        row_values = DIMENSIONS + 1
        offset_bytes = index * rows * row_values * 8
        values = np.fromfile(path, "<f8", rows * row_values, offset=offset_bytes)
        return values.reshape(rows, row_values)

    return block


def gradient_at(weights: Matrix) -> Callable[[Matrix], Matrix]:
    def gradient_of(block: Matrix) -> Matrix:
        labels, coordinates = block[:, 0], block[:, 1:]
        factors = (1 / (1 + np.exp(-labels * (coordinates @ weights))) - 1) * labels
        gradient: Matrix = factors @ coordinates
        return gradient

    return gradient_of


def rdd(sc: Any, source: tuple[str, int], watch: Stopwatch) -> Any:
    path, count = source
    blocks = sc.parallelize(range(BLOCKS), BLOCKS).map(reader_of(path, count)).cache()
    assert blocks.map(len).sum() == count
    weights = np.zeros(DIMENSIONS)
    with watch.timed(ROWS[0]):
        for _ in range(STEPS):
            weights = weights - 0.5 * blocks.map(gradient_at(weights)).reduce(add) / count
    return weights.tolist()


def hand(source: tuple[str, int], watch: Stopwatch) -> Any:
    path, count = source
    with Pair(_descend_half, path, count) as pair:
        assert sum(pair.ask()) == count
        weights = np.zeros(DIMENSIONS)
        with watch.timed(ROWS[0]):
            for _ in range(STEPS):
                weights = weights - 0.5 * add(*pair.ask(weights)) / count
    return weights.tolist()


def _descend_half(peer: Any, path: str, count: int) -> Any:
    blocks = list(map(reader_of(path, count), half(BLOCKS, peer.index)))
    weights = yield sum(map(len, blocks))
    while True:
        weights = yield reduce(add, map(gradient_at(weights), blocks))
