"""The order in which reducers start: heavy ones first, since the last to end sets the stage's time.
Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

# A reducer is heavy if it reads this many times as much as the mean.
HEAVY = 2


def heavy_first(indices: Iterable[int], sizes: Mapping[int, int]) -> list[int]:
    """Orders reducers: the heavy ones by size, then the others in their own order.

    >>> heavy_first([0, 1, 2, 3], {0: 10, 1: 90, 2: 10, 3: 70})
    [1, 0, 2, 3]
    """
    chosen = list(indices)
    least = HEAVY * sum(sizes.get(index, 0) for index in chosen) / max(1, len(chosen))
    heavy = [index for index in chosen if sizes.get(index, 0) >= least > 0]
    heavy.sort(key=lambda index: -sizes[index])
    first = dict.fromkeys(heavy)
    return [*heavy, *(index for index in chosen if index not in first)]
