"""The RDD class: all operators and actions together."""

from __future__ import annotations

from typing import TypeVar

from pyrite.rdd.elements import Elements
from pyrite.rdd.joins import Joins
from pyrite.rdd.keyed import KeyedActions
from pyrite.rdd.ordering import Ordering
from pyrite.rdd.saves import Saves
from pyrite.rdd.sets import Sets
from pyrite.rdd.statistics import Statistics
from pyrite.rdd.tagging import Tagging

T = TypeVar("T")


class RDD(
    Elements[T],
    Sets[T],
    Joins[T],
    Ordering[T],
    KeyedActions[T],
    Statistics[T],
    Saves[T],
    Tagging[T],
):
    """A collection of rows in partitions, computed in parallel when an action asks for it."""
