"""Shuffles: map tasks write rows, reduce tasks read them.

PySpark's names of such a module are loaded when they are first asked for.
"""

from typing import TYPE_CHECKING, Any

from pyrite.lazy import load_lazily

if TYPE_CHECKING:
    from pyrite.shuffle.external import (
        ExternalMerger,
        ExternalSorter,
        Merger,
        SimpleAggregator,
        get_used_memory,
    )
    from pyrite.shuffle.external import MergeFunctions as Aggregator

__all__ = [
    "Aggregator",
    "ExternalMerger",
    "ExternalSorter",
    "Merger",
    "SimpleAggregator",
    "get_used_memory",
]

_HOME = f"{__name__}.external"
HOMES = dict.fromkeys(__all__, _HOME) | {"Aggregator": f"{_HOME}:MergeFunctions"}


def __getattr__(name: str) -> Any:
    return load_lazily(__name__, name, HOMES)
