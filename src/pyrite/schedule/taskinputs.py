"""What a task is told of its input when it is launched."""

from __future__ import annotations

from itertools import zip_longest
from typing import NamedTuple

from pyrite.blocks.fetched import FetchedPlace, Stretch
from pyrite.ids import BlockRef, ShuffleId


class Snapshot(NamedTuple):
    """All map outputs of a shuffle at one epoch, as sent with a reduce task."""

    shuffle: ShuffleId
    epoch: int
    refs: tuple[BlockRef, ...]


class Prefetched(NamedTuple):
    """Prefetched parts of a shuffle: the segments in the memory of the task's own node, and where
    they lie if they share files."""

    shuffle: ShuffleId
    segments: tuple[str, ...]
    stretches: tuple[Stretch | None, ...] = ()

    def places(self) -> list[FetchedPlace]:
        """Returns what to open."""
        found = zip_longest(self.segments, self.stretches)
        return [segment if stretch is None else tuple(stretch) for segment, stretch in found]


class Divided(NamedTuple):
    """Describes a task of a divided reducer.

    A piece computes the RDD at index `place` of the program from a range of maps' outputs. The
    final task has no maps: it merges that RDD from the blocks that the pieces wrote.
    """

    place: int
    shuffle: ShuffleId
    maps: tuple[int, int] | None
    blocks: tuple[BlockRef, ...] = ()


class InputBlock(NamedTuple):
    """The key of a block that a task reads from a ring, and where a pool has it."""

    key: int
    ref: BlockRef | None
