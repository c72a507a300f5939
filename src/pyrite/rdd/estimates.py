"""What the partitions finished in time say about all of them."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, pi, sqrt, tan
from statistics import NormalDist, fmean, variance
from typing import TYPE_CHECKING

from pyrite.rdd.approximate import BoundedFloat

if TYPE_CHECKING:
    from pyrite.statcounter import StatCounter


def estimate_sum(sums: Iterable[float], partitions: int, confidence: float) -> BoundedFloat:
    """The sum over all partitions, from the sums of those that finished."""
    known = list(sums)
    if len(known) == partitions:
        return exactly(float(sum(known)))
    if not known:
        return BoundedFloat(0.0, 0.0, -inf, inf)
    mean = fmean(known)
    error = sqrt(variance(known, mean) / len(known)) if len(known) > 1 else inf
    return bounded(mean, error, len(known), confidence, scale=partitions)


def estimate_mean(parts: Iterable[StatCounter], partitions: int, confidence: float) -> BoundedFloat:
    """The mean over all partitions, from the rows of those that finished."""
    known = list(parts)
    if not known:
        return exactly(0.0) if partitions == 0 else BoundedFloat(0.0, 0.0, -inf, inf)
    total = known[0]
    for part in known[1:]:
        total = total.mergeStats(part)
    if len(known) == partitions:
        return exactly(float(total.mean()))
    error = sqrt(total.sampleVariance() / total.count()) if total.count() > 1 else inf
    return bounded(float(total.mean()), error, total.count(), confidence)


def exactly(value: float) -> BoundedFloat:
    return BoundedFloat(value, 1.0, value, value)


def bounded(
    mean: float, error: float, count: int, confidence: float, scale: float = 1.0
) -> BoundedFloat:
    """A mean with the bounds that its standard error gives, all times `scale`."""
    if error == inf or confidence >= 1.0:
        return BoundedFloat(mean * scale, confidence, -inf, inf)
    reach = error * student_t((1.0 + confidence) / 2.0, count - 1)
    return BoundedFloat(mean * scale, confidence, (mean - reach) * scale, (mean + reach) * scale)


def student_t(probability: float, freedom: int) -> float:
    """The quantile of Student's t distribution: exact for one and two degrees of freedom."""
    if freedom == 1:
        return tan(pi * (probability - 0.5))
    if freedom == 2:
        return (2 * probability - 1) * sqrt(2 / (4 * probability * (1 - probability)))
    z = NormalDist().inv_cdf(probability)
    # The expansion of Cornish and Fisher in 1 / freedom, good to a few percent from three on.
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3
