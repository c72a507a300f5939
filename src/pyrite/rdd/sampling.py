"""Random choices of rows, the same as PySpark's for the same seed."""

import math
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import repeat
from random import Random
from typing import Any, TypeVar

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

# Above this mean a product of draws would run out of a float's precision.
_LARGE_MEAN = 20.0


def fresh_seed() -> int:
    """A seed for a sample whose user named none."""
    return random.randint(0, sys.maxsize)


def partition_random(seed: int, index: int) -> Random:
    """The source of randomness of one partition."""
    source = Random(seed ^ index)
    # PySpark draws ten bits first; without them no later draw would be the same.
    for _ in range(10):
        source.randint(0, 1)
    return source


class Sampler:
    """Each row with the same chance, or with replacement each row so many times on average."""

    def __init__(self, with_replacement: bool, fraction: float, seed: int | None = None) -> None:
        self.with_replacement = with_replacement
        self.fraction = fraction
        self.seed = fresh_seed() if seed is None else seed

    def __call__(self, index: int, rows: Iterator[T]) -> Iterator[T]:
        source = partition_random(self.seed, index)
        if self.with_replacement:
            copies = poisson(source, self.fraction)
            return (row for row in rows for _ in repeat(None, copies()))
        draw, fraction = source.random, self.fraction
        return (row for row in rows if draw() < fraction)


class RangeSampler:
    """The rows whose draw falls between two bounds; adjoining ranges of one seed share no row."""

    def __init__(self, low: float, high: float, seed: int) -> None:
        self.low = low
        self.high = high
        self.seed = seed

    def __call__(self, index: int, rows: Iterator[T]) -> Iterator[T]:
        draw = partition_random(self.seed, index).random
        low, high = self.low, self.high
        return (row for row in rows if low <= draw() < high)


class StratifiedSampler:
    """Pairs sampled with the fraction that their key has in a mapping."""

    def __init__(
        self, with_replacement: bool, fractions: Mapping[Any, float], seed: int | None = None
    ) -> None:
        self.with_replacement = with_replacement
        self.fractions = fractions
        self.seed = fresh_seed() if seed is None else seed

    def __call__(self, index: int, rows: Iterator[tuple[K, V]]) -> Iterator[tuple[K, V]]:
        source = partition_random(self.seed, index)
        fractions = self.fractions
        if self.with_replacement:
            copies = {key: poisson(source, mean) for key, mean in fractions.items()}
            return ((key, value) for key, value in rows for _ in repeat(None, copies[key]()))
        draw = source.random
        return ((key, value) for key, value in rows if draw() < fractions[key])


def poisson(source: Random, mean: float) -> Callable[[], int]:
    """A function that draws from the Poisson distribution of this mean.

    Each draw counts the arrivals of a Poisson process within one unit of time (Knuth): for small
    means by the product of uniform numbers, for large ones by the sum of waiting times.
    """
    if mean < _LARGE_MEAN:
        uniform, limit = source.random, math.exp(-mean)

        def by_product() -> int:
            count, product = 0, uniform()
            while product > limit:
                count += 1
                product *= uniform()
            return count

        return by_product

    def by_waiting() -> int:
        count, waited = 0, source.expovariate(mean)
        while waited < 1.0:
            count += 1
            waited += source.expovariate(mean)
        return count

    return by_waiting
