"""Resilient distributed datasets: the user's face of the engine."""

from __future__ import annotations

from typing import TypeVar

from pyrite.hashing import portable_hash
from pyrite.rdd.approximate import BoundedFloat
from pyrite.rdd.barrier import RDDBarrier
from pyrite.rdd.elements import Elements
from pyrite.rdd.joins import Joins
from pyrite.rdd.keyed import KeyedActions
from pyrite.rdd.ordering import Ordering
from pyrite.rdd.partitioner import Partitioner
from pyrite.rdd.saves import Saves
from pyrite.rdd.sets import Sets
from pyrite.rdd.statistics import Statistics

__all__ = ["RDD", "BoundedFloat", "Partitioner", "PipelinedRDD", "RDDBarrier", "portable_hash"]

T = TypeVar("T")


class RDD(
    Elements[T],
    Sets[T],
    Joins[T],
    Ordering[T],
    KeyedActions[T],
    Statistics[T],
    Saves[T],
):
    """A collection of rows in partitions, computed in parallel when an action asks for it."""


PipelinedRDD = RDD
