"""Servers at random positions of the ring, as the paper has them.

Input and ranges that do not move are equal slices of the keys in the simulated cluster. Keys are
stretched instead: each server's range between random positions is mapped to its equal slice. What
follows the keys (LAF) sees the same keys in the same order.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from random import Random
from statistics import geometric_mean
from typing import NamedTuple

from pyrite.place.laf import KEYS

PLACES = range(10)


class Spread(NamedTuple):
    """The lowest, the mean and the highest of how many times as fast, over all sets of places."""

    least: float
    mean: float
    most: float

    @classmethod
    def of(cls, speeds: Sequence[float]) -> Spread:
        return cls(min(speeds), geometric_mean(speeds), max(speeds))

    def __str__(self) -> str:
        return f"{self.mean:.2f} ({self.least:.2f} to {self.most:.2f})"


def stretched(keys: Sequence[int], nodes: int, seed: int) -> list[int]:
    """The keys as they would lie if equal slices were ranges between random positions.

    >>> keys = [KEYS // 8 * each for each in range(8)]
    >>> len(set(stretched(keys, 4, seed=0)))
    8
    """
    dice = Random(f"places {seed}")
    positions = sorted(dice.randrange(KEYS) for _ in range(nodes))
    # A server owns what is after its predecessor's position: the first one's range begins at the
    # last position, and goes around.
    origin = positions[-1]
    ends = [*((each - origin) % KEYS for each in positions[:-1]), KEYS]
    begins = [0, *ends[:-1]]
    found = []
    for key in keys:
        at = (key - origin) % KEYS
        place = bisect_right(begins, at) - 1
        inside = (at - begins[place]) / (ends[place] - begins[place])
        low, high = KEYS * place // nodes, KEYS * (place + 1) // nodes
        found.append(min(high - 1, low + int(inside * (high - low))))
    return found
