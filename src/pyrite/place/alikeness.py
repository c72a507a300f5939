"""Whether finished maps foretell the others better than a thin sample does. Pure.

A sort's sample has some rows of every map, so it is right on average, but noisy; finished maps have
told all of their rows, but may differ from the others. So both are asked how far off they may be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import sqrt

from pyrite.place.predict import Sample, SeenOutput
from pyrite.place.sizes import add_up

# The mean deviation of a normal distribution, as a fraction of its standard deviation.
MEAN_DEVIATION = 0.8
# Two samples differ for another reason than chance if they do so by this many times the noise.
NOT_CHANCE = 1.5


def observed_is_better(
    samples: Sequence[Sample], outputs: Mapping[int, SeenOutput], reducers: int
) -> bool:
    """Whether the finished maps predict the others better than samples of them."""
    if len(outputs) < 2:
        return False
    left = [each for number, each in enumerate(samples) if number not in outputs]
    seen = [samples[number] for number in outputs]
    if _differ(_drawn(seen, reducers), _drawn(left, reducers)) or _are_local(left, reducers):
        return False
    return _spread(list(outputs.values()), reducers) < _noise(_drawn(left, reducers))


def _are_local(samples: Sequence[Sample], reducers: int) -> bool:
    """Whether rows of one map fall to the same reducer more often than rows of any maps do.

    Then it matters which map runs where, which only samples of each map tell.
    """
    rows = _drawn(samples, reducers)
    total = max(1, sum(rows))
    chance = sum((count / total) ** 2 for count in rows)
    pairs = expected = 0.0
    for _, drawn, parts in samples:
        expected += chance * drawn * (drawn - 1) / 2
        pairs += sum(count * (count - 1) / 2 for _, count in parts)
    return pairs > expected + 3 * sqrt(expected) and pairs > NOT_CHANCE * expected


def _spread(outputs: Sequence[SeenOutput], reducers: int) -> float:
    """Estimates how far the maps' mean is off from half of them against the other half."""
    halves = [add_up([each.code for each in outputs[side::2]], reducers) for side in (0, 1)]
    # The mean of both halves is off half as far as they are from each other.
    return _distance(*halves) / 2


def _drawn(samples: Iterable[Sample], reducers: int) -> list[int]:
    """Counts the drawn rows of each reducer."""
    rows = [0] * reducers
    for _, _, parts in samples:
        for reducer, count in parts:
            rows[reducer] += count
    return rows


def _noise(rows: Sequence[int]) -> float:
    """Returns which fraction of all rows so small a sample misplaces by chance."""
    total = sum(rows)
    return MEAN_DEVIATION * sum(map(sqrt, rows)) / total if total else 1.0


def _differ(some: Sequence[int], others: Sequence[int]) -> bool:
    """Whether two samples are of different distributions."""
    noise = sqrt(_noise(some) ** 2 + _noise(others) ** 2)
    return _distance(some, others) > NOT_CHANCE * noise


def _distance(some: Sequence[int], others: Sequence[int]) -> float:
    """Returns the sum of the differences of two distributions' shares."""
    here, there = max(1, sum(some)), max(1, sum(others))
    return sum(abs(a / here - b / there) for a, b in zip(some, others, strict=True))
