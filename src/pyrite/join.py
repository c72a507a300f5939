"""PySpark's joins as functions; the methods of RDDs are the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyrite.rdd.rdd import RDD

__all__ = [
    "python_cogroup",
    "python_full_outer_join",
    "python_join",
    "python_left_outer_join",
    "python_right_outer_join",
]


def python_join(rdd: RDD[Any], other: RDD[Any], numPartitions: int | None) -> RDD[Any]:
    """As `rdd.join`.

    >>> python_join(sc.parallelize([(1, "a")]), sc.parallelize([(1, "b")]), 2).collect()
    [(1, ('a', 'b'))]
    """
    return rdd.join(other, numPartitions)


def python_left_outer_join(rdd: RDD[Any], other: RDD[Any], numPartitions: int | None) -> RDD[Any]:
    """As `rdd.leftOuterJoin`."""
    return rdd.leftOuterJoin(other, numPartitions)


def python_right_outer_join(rdd: RDD[Any], other: RDD[Any], numPartitions: int | None) -> RDD[Any]:
    """As `rdd.rightOuterJoin`."""
    return rdd.rightOuterJoin(other, numPartitions)


def python_full_outer_join(rdd: RDD[Any], other: RDD[Any], numPartitions: int | None) -> RDD[Any]:
    """As `rdd.fullOuterJoin`."""
    return rdd.fullOuterJoin(other, numPartitions)


def python_cogroup(rdds: Sequence[RDD[Any]], numPartitions: int | None) -> RDD[Any]:
    """As `rdds[0].groupWith(*rdds[1:])`, into a number of partitions."""
    return rdds[0]._cogroup(list(rdds), numPartitions)
