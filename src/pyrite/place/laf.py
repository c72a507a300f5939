"""Locality-aware fair scheduling: ranges of keys that are equally likely to be asked for.

EclipseMR, algorithm 1: a histogram of the keys of recent tasks, smoothed by a box kernel, is merged
into a moving average, which is cut into as many ranges of equal weight as there are servers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from math import ceil
from typing import Generic, TypeVar

T = TypeVar("T")
KEYS = 1 << 64


class Laf(Generic[T]):
    """Which servers should run the tasks whose input has a key.

    >>> laf = Laf(["a", "b"], alpha=1.0, window=4, bins=8, bandwidth=1)
    >>> for key in [1 << 61] * 3 + [1 << 63]:
    ...     laf.saw(key)
    >>> sorted(laf.owners(1 << 61)), laf.owners(1 << 63)
    (['a', 'b'], ['b'])
    """

    def __init__(
        self,
        servers: Sequence[T],
        alpha: float = 0.001,
        window: int = 64,
        bins: int = 4096,
        bandwidth: int = 8,
    ) -> None:
        if not servers:
            raise ValueError("there must be a server at least")
        if not 0 <= alpha <= 1:
            raise ValueError(f"alpha weighs new keys against old ones, from 0 to 1: not {alpha}")
        if window < 1 or not 1 <= bandwidth <= bins:
            raise ValueError("window is at least 1, and bandwidth from 1 to the number of bins")
        self.servers = list(servers)
        self.alpha = alpha
        self.window = window
        self.bins = bins
        self.bandwidth = bandwidth
        self._recent: list[int] = []
        # Averages that start empty: from an even start a small alpha would take forever to adapt.
        self._smooth = [0.0] * bins
        self._exact = [0.0] * bins
        self._total = 0.0
        # How often the ranges were cut anew.
        self.cuts = 0
        self._starts = self._even()

    def saw(self, key: int) -> None:
        """A task with this key has come."""
        self._recent.append(self._bin(key))
        if len(self._recent) == self.window:
            self._merge()
            self._recent.clear()

    def serve(self, servers: Sequence[T]) -> None:
        """Other servers share the keys from now on; what is known of the keys stays."""
        if not servers:
            raise ValueError("there must be a server at least")
        self.servers = list(servers)
        if self._total:
            self._cut()
        else:
            self._starts = self._even()
            self.cuts += 1

    def ranges(self) -> list[tuple[int, int]]:
        """The keys of each server in turn, from the first number up to the second."""
        return list(zip(self._starts, [*self._starts[1:], KEYS], strict=True))

    def owners(self, key: int) -> list[T]:
        """The servers for a key, the one whose range it is in first.

        A key that makes up more than a server's share has several: ranges alone would leave it to
        one of them, however narrow they get.
        """
        count = len(self.servers)
        first = bisect_right(self._starts, key) - 1
        wanted = self._wanted(self._bin(key))
        begin = first - (wanted - 1) // 2
        around = [(begin + step) % count for step in range(wanted)]
        return [self.servers[first], *(self.servers[each] for each in around if each != first)]

    def hot(self) -> list[tuple[int, int]]:
        """The stretches of keys that are hotter than one server's share."""
        width = KEYS // self.bins
        bins = [bin for bin in range(self.bins) if self._exact[bin] and self._wanted(bin) > 1]
        return [(bin * width, (bin + 1) * width) for bin in bins]

    def _wanted(self, bin: int) -> int:
        """How many servers share the keys of a bin."""
        count = len(self.servers)
        shares = self._exact[bin] * count / self._total if self._total else 0.0
        # Rounding must not give an even load two owners.
        return min(count, max(1, ceil(shares - 1e-9)))

    def _even(self) -> list[int]:
        count = len(self.servers)
        return [KEYS * index // count for index in range(count)]

    def _bin(self, key: int) -> int:
        return key * self.bins // KEYS

    def _merge(self) -> None:
        """Algorithm 1, lines 11 to 24."""
        exact = [0.0] * self.bins
        smooth = [0.0] * self.bins
        half = self.bandwidth // 2
        for center in self._recent:
            exact[center] += 1
            for step in range(self.bandwidth):
                # The circle has no end: what leaves at one side comes in at the other.
                smooth[(center - half + step) % self.bins] += 1 / self.bandwidth
        self._exact = self._averaged(self._exact, exact)
        self._smooth = self._averaged(self._smooth, smooth)
        self._total = sum(self._exact)
        if self._total:
            self._cut()

    def _averaged(self, old: list[float], new: list[float]) -> list[float]:
        alpha = self.alpha
        return [alpha * fresh + (1 - alpha) * kept for fresh, kept in zip(new, old, strict=True)]

    def _cut(self) -> None:
        """Cuts the cumulative distribution into ranges of equal weight."""
        sums = [0.0, *accumulate(self._smooth)]
        count, width = len(self.servers), KEYS // self.bins
        starts = [0]
        for index in range(1, count):
            goal = sums[-1] * index / count
            bin = min(bisect_right(sums, goal), self.bins) - 1
            weight = self._smooth[bin]
            part = (goal - sums[bin]) / weight if weight else 0.0
            starts.append(max(starts[-1], bin * width + int(part * width)))
        self._starts = starts
        self.cuts += 1
