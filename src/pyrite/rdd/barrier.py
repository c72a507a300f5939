"""An RDD whose next stage runs all its tasks at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from pyrite.rdd import RDD

T = TypeVar("T")
U = TypeVar("U")


class RDDBarrier(Generic[T]):
    """Offers the operators whose tasks may use `BarrierTaskContext`."""

    def __init__(self, rdd: RDD[T]) -> None:
        self.rdd = rdd

    def mapPartitions(
        self, f: Callable[[Iterable[T]], Iterable[U]], preservesPartitioning: bool = False
    ) -> RDD[U]:
        """As `RDD.mapPartitions`, in a stage whose tasks start together.

        >>> sc.parallelize([1, 2], 1).barrier().mapPartitions(list).collect()
        [1, 2]
        """
        return as_barrier(self.rdd.mapPartitions(f, preservesPartitioning))

    def mapPartitionsWithIndex(
        self, f: Callable[[int, Iterable[T]], Iterable[U]], preservesPartitioning: bool = False
    ) -> RDD[U]:
        """As `RDD.mapPartitionsWithIndex`, in a stage whose tasks start together.

        >>> rdd = sc.parallelize([1, 2], 1).barrier()
        >>> rdd.mapPartitionsWithIndex(lambda index, rows: [index]).collect()
        [0]
        """
        return as_barrier(self.rdd.mapPartitionsWithIndex(f, preservesPartitioning))


def as_barrier(rdd: RDD[U]) -> RDD[U]:
    rdd._barrier = True
    return rdd
