"""Chooses which kept RDD is evicted for another (RDD paper, 6.2). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pyrite.ids import RddId


class LastUse(NamedTuple):
    """The eviction order of an RDD: by priority, then by last use."""

    priority: int
    last_used: int


def choose_victim(
    uses: Mapping[RddId, LastUse], storing: RddId | None, priority: int
) -> RddId | None:
    """Returns the least recently used RDD of lowest priority.

    Never the RDD that is being stored: most operations are scans, and a scan would evict just the
    partitions that it needs next. Never one of higher priority than the new one.
    """
    candidates = [
        (use, rdd) for rdd, use in uses.items() if rdd != storing and use.priority <= priority
    ]
    return min(candidates)[1] if candidates else None
