"""One attempt at a task, as the driver sends it to an executor."""

from __future__ import annotations

from typing import Any, NamedTuple

from pyrite.blocks.fetched import FetchedPlace
from pyrite.ids import ShuffleId


class Task(NamedTuple):
    """What to compute, from which inputs."""

    attempt: int
    stage: int
    partitions: tuple[int, ...]
    number: int
    inputs: list[ShuffleId]
    # The blocks of kept partitions, by RDD and index.
    blocks: list[tuple[int, int, list[tuple[Any, ...]]]]
    # The prefetched segments on this node, by shuffle.
    prefetched: list[tuple[ShuffleId, list[FetchedPlace]]]
    # Set for a piece of a heavy reducer, and for the reducer that merges its pieces.
    divided: tuple[int, ShuffleId, tuple[int, int] | None, list[Any]] | None
    # The keys of blocks of a ring that it reads, and where a pool has them.
    cached: list[tuple[int, tuple[Any, ...] | None]]
    # The pickled slices of each partition; None if no operator has slices.
    slices: list[bytes] | None
