"""Operators without parents: where rows come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from pyrite.blocks.codec import CorruptBlock, decode_frames
from pyrite.errors import ClusterError
from pyrite.ids import BlockRef
from pyrite.metrics import COUNTS
from pyrite.rdd.op import Env, Input, Op, Sliced

# The most rows that PySpark's driver pickles as one.
BATCH_ROWS = 1024
# What a number of a range counts as.
NUMBER_BYTES = 8


class Slices(Sliced):
    """Rows that the driver holds: small slices travel with their task, large ones lie in a pool."""

    name = "parallelize"

    def __init__(self, slices: Sequence[bytes | tuple[BlockRef, ...]]) -> None:
        self.slices = slices

    def compute(self, index: int, inputs: list[Input], env: Env) -> Iterator[Any]:
        return chain.from_iterable(self.batches(self.slices[index], env))

    def batches(self, part: bytes | tuple[BlockRef, ...], env: Env) -> Iterator[list[Any]]:
        try:
            for batch in self._decoded(part, env):
                COUNTS.rows_read += len(batch)
                yield batch
        except (OSError, CorruptBlock) as error:
            raise ClusterError(
                f"rows of parallelize or of localCheckpoint are lost ({error}), and nothing can "
                "make them again: make the RDD anew; checkpoint() survives more"
            ) from None

    def _decoded(self, part: bytes | tuple[BlockRef, ...], env: Env) -> Iterator[list[Any]]:
        if isinstance(part, bytes):
            return decode_frames(part, writable=True)
        return chain.from_iterable(map(env.read_rows, part))

    def partition_bytes(self, index: int) -> int:
        part = self.slices[index]
        return len(part) if isinstance(part, bytes) else sum(ref.length for ref in part)

    def partitions(self) -> int:
        return len(self.slices)


class Ranges(Op):
    """A range of integers, cut into slices; no row exists before a task counts it."""

    name = "range"
    pipelined = True

    def __init__(self, rows: range, count: int) -> None:
        self.rows = rows
        self.count = count

    def compute(self, index: int, inputs: list[Input], env: Env) -> Iterator[Any]:
        start, end = slice_bounds(len(self.rows), self.count, index)
        COUNTS.rows_read += end - start
        return iter(self.rows[start:end])

    def partition_bytes(self, index: int) -> int:
        start, end = slice_bounds(len(self.rows), self.count, index)
        return NUMBER_BYTES * (end - start)

    def partitions(self) -> int:
        return self.count


def slice_bounds(length: int, count: int, index: int) -> tuple[int, int]:
    """The bounds of slice `index` when `length` rows are cut into `count` slices."""
    return index * length // count, (index + 1) * length // count


def dealt_bounds(length: int, count: int, index: int) -> tuple[int, int]:
    """The bounds of slice `index` when rows are dealt as PySpark deals them: in whole batches, of
    as many rows as each slice can have.

    >>> [dealt_bounds(99, 4, index) for index in range(4)]
    [(0, 24), (24, 48), (48, 72), (72, 99)]
    """
    rows = max(1, min(length // count, BATCH_ROWS))
    start, end = slice_bounds(-(-length // rows), count, index)
    return min(start * rows, length), min(end * rows, length)


class Files(Sliced):
    """Rows read from files: one list of splits per partition, found when they are first needed.

    `read` returns the rows of some splits.
    """

    def __init__(
        self,
        name: str,
        find: Callable[[], list[Any]],
        read: Callable[[Sequence[Any]], Iterator[Any]],
    ) -> None:
        self.name = name
        self.find: Callable[[], list[Any]] | None = find
        self.read = read

    def compute(self, index: int, inputs: list[Input], env: Env) -> Iterator[Any]:
        return self.read(self.slices[index])

    def partition_key(self, index: int) -> int | None:
        splits = self.slices[index]
        return splits[0].key if splits else None

    def partition_bytes(self, index: int) -> int | None:
        splits = self.slices[index]
        # Some file systems do not tell a file's length.
        return sum(each.length for each in splits) or (None if splits else 0)

    def partitions(self) -> int:
        if self.find is not None:
            self.slices, self.find = self.find(), None
        return len(self.slices)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "find": None}


class EachSplit:
    """Reads some splits, one after another."""

    def __init__(self, read: Callable[[Any], Iterable[Any]]) -> None:
        self.read = read

    def __call__(self, splits: Sequence[Any]) -> Iterator[Any]:
        return chain.from_iterable(map(self.read, splits))
