"""PySpark's samplers by name: functions of a partition's index and rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pyrite.rdd.sampling import RangeSampler, Sampler, StratifiedSampler, fresh_seed

__all__ = ["RDDRangeSampler", "RDDSampler", "RDDSamplerBase", "RDDStratifiedSampler"]


class RDDSamplerBase:
    """A choice of rows that is the same for the same seed and partition."""

    def func(self, split: int, iterator: Iterable[Any]) -> Iterator[Any]:
        """The chosen rows of a partition."""
        raise NotImplementedError


class RDDSampler(RDDSamplerBase):
    """Each row with the same chance, or with replacement so many times on average.

    >>> rdd = sc.parallelize(range(100), 2)
    >>> chosen = rdd.mapPartitionsWithIndex(RDDSampler(False, 0.1, seed=7).func)
    >>> chosen.collect() == rdd.sample(False, 0.1, seed=7).collect()
    True
    """

    def __init__(self, withReplacement: bool, fraction: float, seed: int | None = None) -> None:
        self._sampler = Sampler(withReplacement, fraction, seed)

    def func(self, split: int, iterator: Iterable[Any]) -> Iterator[Any]:
        return self._sampler(split, iter(iterator))


class RDDRangeSampler(RDDSamplerBase):
    """The rows whose draw falls between two bounds, as `randomSplit` takes them."""

    def __init__(self, lowerBound: float, upperBound: float, seed: int | None = None) -> None:
        self._sampler = RangeSampler(lowerBound, upperBound, fresh_seed() if seed is None else seed)

    def func(self, split: int, iterator: Iterable[Any]) -> Iterator[Any]:
        return self._sampler(split, iter(iterator))


class RDDStratifiedSampler(RDDSamplerBase):
    """Pairs with the fraction that their key has, as `sampleByKey` takes them."""

    def __init__(
        self, withReplacement: bool, fractions: Mapping[Any, float], seed: int | None = None
    ) -> None:
        self._sampler = StratifiedSampler(withReplacement, fractions, seed)

    def func(self, split: int, iterator: Iterable[Any]) -> Iterator[Any]:
        return self._sampler(split, iter(iterator))
