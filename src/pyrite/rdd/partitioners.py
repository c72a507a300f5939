"""The partitioners of collections: public, equal by value, picklable."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from pyrite.errors import BadValue, UserError
from pyrite.hashing import portable_hash
from pyrite.rdd.partitioner import Partitioner, RangeFunc, range_bounds

if TYPE_CHECKING:
    from pyrite.rdd import RDD


class HashPartitioner(Partitioner):
    """Deals keys to `numPartitions` partitions by their hash, as `partitionBy` does.

    >>> HashPartitioner(4) == HashPartitioner(4), HashPartitioner(4)(6)
    (True, 2)
    """

    def __init__(self, numPartitions: int) -> None:
        require_count("numPartitions", numPartitions)
        super().__init__(numPartitions, portable_hash)

    def __repr__(self) -> str:
        return f"HashPartitioner({self.numPartitions})"


class StaticRanges(RangeFunc):
    """Ranges that are equal where their bounds are."""

    def __init__(self, bounds: list[Any]) -> None:
        super().__init__(bounds, None, True)

    def __eq__(self, other: object) -> bool:
        return type(other) is StaticRanges and self.bounds == other.bounds

    def __hash__(self) -> int:
        # Keys need not be hashable.
        return hash(len(self.bounds))


class StaticRangePartitioner(Partitioner):
    """Deals keys to ranges: partition i has the keys above bound i - 1, up to bound i.

    >>> ranges = StaticRangePartitioner([10, 20])
    >>> [ranges(key) for key in (3, 10, 11, 99)]
    [0, 0, 1, 2]
    """

    def __init__(self, bounds: Sequence[Any]) -> None:
        cut = list(bounds)
        if any(after < before for before, after in itertools.pairwise(cut)):
            raise BadValue("bounds of ranges must ascend: sort them")
        super().__init__(len(cut) + 1, StaticRanges(cut))

    @classmethod
    def sampled(cls, rdd: RDD[Any], numPartitions: int) -> StaticRangePartitioner:
        """Cuts the keys of an RDD's pairs into ranges of about equal size, by a sample.

        >>> rdd = sc.parallelize([(key, None) for key in range(1000)])
        >>> StaticRangePartitioner.sampled(rdd, 4).numPartitions
        4
        """
        require_count("numPartitions", numPartitions)
        keys = rdd._sampled_keys(numPartitions)
        if not keys:
            raise UserError(f"{rdd!r} has no rows: its keys can't be cut into ranges")
        return cls(range_bounds(keys, numPartitions))

    @property
    def bounds(self) -> list[Any]:
        """The last key of each range but the last."""
        assert isinstance(self.partitionFunc, StaticRanges)
        return list(self.partitionFunc.bounds)

    def __repr__(self) -> str:
        bounds = self.bounds
        shown = repr(bounds) if len(bounds) <= 4 else f"{len(bounds)} bounds, from {bounds[0]!r}"
        return f"StaticRangePartitioner({shown})"


class ExtendablePartitioner(Partitioner):
    """Another partitioner's partitions in groups, which split and merge with the data's size.

    Stark, III-C: a task computes a group; `groups` is how many there are at first.

    >>> ExtendablePartitioner(HashPartitioner(8), groups=4)
    ExtendablePartitioner(HashPartitioner(8), groups=4)
    """

    def __init__(self, inner: Partitioner, groups: int) -> None:
        if not isinstance(inner, Partitioner) or isinstance(inner, ExtendablePartitioner):
            raise TypeError(
                "an ExtendablePartitioner groups the partitions of a HashPartitioner or a "
                f"StaticRangePartitioner, not of {inner!r}"
            )
        require_count("groups", groups)
        if groups > inner.numPartitions:
            raise BadValue(
                f"{inner!r} has {inner.numPartitions} partitions, too few for {groups} groups"
            )
        super().__init__(inner.numPartitions, inner.partitionFunc)
        self.inner = inner
        self.groups: int | None = groups

    def __repr__(self) -> str:
        return f"ExtendablePartitioner({self.inner!r}, groups={self.groups})"


def digest_of(partitioner: Partitioner | None) -> str:
    """Equal for partitioners that send each key to the same partition; empty without one.

    >>> ranges = StaticRangePartitioner([10, 20])
    >>> digest_of(ranges) == digest_of(ExtendablePartitioner(ranges, 2))
    True
    >>> digest_of(ranges) == digest_of(StaticRangePartitioner([10, 30]))
    False
    """
    if partitioner is None:
        return ""
    func = partitioner.partitionFunc
    by = func.bounds if isinstance(func, RangeFunc) else getattr(func, "__qualname__", type(func))
    return sha256(repr((partitioner.numPartitions, by)).encode()).hexdigest()[:12]


def groups_of(partitioner: Partitioner) -> int:
    """In how many groups a collection starts; without an extendable partitioner each partition is a
    group, and stays one."""
    return partitioner.groups or partitioner.numPartitions


def require_count(name: str, count: int) -> None:
    if not isinstance(count, int) or isinstance(count, bool):
        raise TypeError(f"{name} must be an int, not {count!r}")
    if count <= 0:
        raise BadValue(f"{name} must be positive, not {count}")
