"""How a partition depends on its parents: on few of them (narrow) or on all (shuffle)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyrite.ids import ShuffleId
    from pyrite.plan.stages import Cut
    from pyrite.rdd.base import Lineage
    from pyrite.rdd.frozen import Frozen
    from pyrite.rdd.partitioner import Router


class Mapping:
    """Which parent partitions a child's partition reads; picklable, without the parent."""

    def parents(self, index: int) -> Sequence[int]:
        raise NotImplementedError


class Same(Mapping):
    """Partition i reads the parent's partition i."""

    def parents(self, index: int) -> Sequence[int]:
        return (index,)


class UnionSlice(Mapping):
    """One parent of a union: its partitions follow those of the parents before it."""

    def __init__(self, start: int, length: int) -> None:
        self.start = start
        self.length = length

    def parents(self, index: int) -> Sequence[int]:
        position = index - self.start
        return (position,) if 0 <= position < self.length else ()


class Groups(Mapping):
    """Partition i reads a run of the parent's partitions, as coalesce does."""

    def __init__(self, bounds: Sequence[int]) -> None:
        self.bounds = bounds

    def parents(self, index: int) -> Sequence[int]:
        return range(self.bounds[index], self.bounds[index + 1])


class Rows(Mapping):
    """The left side of a cartesian product: partition i reads parent i // width."""

    def __init__(self, width: int) -> None:
        self.width = width

    def parents(self, index: int) -> Sequence[int]:
        return (index // self.width,)


class Columns(Mapping):
    """The right side of a cartesian product: partition i reads parent i % width."""

    def __init__(self, width: int) -> None:
        self.width = width

    def parents(self, index: int) -> Sequence[int]:
        return (index % self.width,)


SAME = Same()


class NarrowDependency:
    """A child's partition needs a few known partitions of the parent.

    `frozen` is the parent as it was pickled when the child was made; None where its function is
    pickled with the child's own.
    """

    __slots__ = ("frozen", "mapping", "rdd")

    def __init__(
        self, rdd: Lineage[Any], mapping: Mapping = SAME, frozen: Frozen | None = None
    ) -> None:
        self.rdd = rdd
        self.mapping = mapping
        self.frozen = frozen


class ShuffleDependency:
    """A child's partition needs a part of every partition of the parent.

    `frozen` is the parent, with the router, as it was pickled when the shuffle was made.
    """

    __slots__ = ("__weakref__", "cut", "frozen", "partitions", "rdd", "router", "shuffle")

    def __init__(
        self,
        rdd: Lineage[Any],
        router: Router,
        partitions: int,
        shuffle: ShuffleId,
        frozen: Frozen,
    ) -> None:
        self.rdd = rdd
        self.router = router
        self.partitions = partitions
        self.shuffle = shuffle
        self.frozen = frozen
        self.cut: Cut | None = None


Dependency = NarrowDependency | ShuffleDependency


class UnionIndex:
    """Finds the one parent that a union's partition reads, however many parents there are."""

    def __init__(self, lengths: Sequence[int]) -> None:
        self.starts: list[int] = []
        total = 0
        for length in lengths:
            self.starts.append(total)
            total += length
        self.total = total

    def find(self, index: int) -> tuple[int, int]:
        parent = bisect_right(self.starts, index) - 1
        return parent, index - self.starts[parent]
