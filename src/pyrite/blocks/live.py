"""Live rows: partitions kept as Python objects in an executor's heap."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable
from itertools import islice
from typing import Any

from pyrite.blocks.evict import LastUse, choose_victim
from pyrite.ids import Partition, RddId
from pyrite.storagelevel import StorageLevel

SAMPLE_ROWS = 16
DEEPEST = 6


class LivePartition:
    """One kept partition."""

    __slots__ = ("level", "rows", "size_bytes")

    def __init__(self, rows: list[Any], level: StorageLevel, size_bytes: int) -> None:
        self.rows = rows
        self.level = level
        self.size_bytes = size_bytes


class LiveStore:
    """The rows that one executor keeps, by RDD, and when each RDD was last used."""

    def __init__(self, limit_bytes: int, protected_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.protected_bytes = protected_bytes
        self.used_bytes = 0
        self.rdds: dict[RddId, dict[int, LivePartition]] = {}
        self.uses: dict[RddId, LastUse] = {}
        self.clock = 0

    def get(self, partition: Partition) -> list[Any] | None:
        entry = self.rdds.get(partition.rdd, {}).get(partition.index)
        if entry is None:
            return None
        self._touch(partition.rdd, self.uses[partition.rdd].priority)
        return entry.rows

    def put(
        self,
        partition: Partition,
        rows: list[Any],
        size_bytes: int,
        level: StorageLevel,
        priority: int,
    ) -> None:
        self.rdds.setdefault(partition.rdd, {})[partition.index] = LivePartition(
            rows, level, size_bytes
        )
        self.used_bytes += size_bytes
        self._touch(partition.rdd, priority)
        self._settle()

    def has_room(self, size_bytes: int) -> bool:
        return self.used_bytes + size_bytes <= self.limit_bytes

    def victim(self, storing: RddId | None, priority: int) -> Partition | None:
        """Returns the partition to evict next for `storing`."""
        rdd = choose_victim(self.uses, storing, priority)
        return None if rdd is None else Partition(rdd, next(reversed(self.rdds[rdd])))

    def remove(self, partition: Partition) -> LivePartition:
        entries = self.rdds[partition.rdd]
        entry = entries.pop(partition.index)
        self.used_bytes -= entry.size_bytes
        if not entries:
            del self.rdds[partition.rdd]
            del self.uses[partition.rdd]
        return entry

    def forget(self, rdd: RddId) -> None:
        for entry in self.rdds.pop(rdd, {}).values():
            self.used_bytes -= entry.size_bytes
        if self.uses.pop(rdd, None) is not None:
            self._unsettle()

    def _settle(self) -> None:
        # Kept rows live long: the garbage collector need not scan them again and again.
        gc.freeze()

    def _unsettle(self) -> None:
        gc.unfreeze()

    def _touch(self, rdd: RddId, priority: int) -> None:
        self.clock += 1
        self.uses[rdd] = LastUse(priority, self.clock)


def estimate_bytes(rows: list[Any]) -> int:
    """Estimates the rows' memory from a sample."""
    count = len(rows)
    if count == 0:
        return 0
    step = max(1, count // SAMPLE_ROWS)
    sample = rows[::step]
    return 8 * count + sum(map(deep_size, sample)) * count // len(sample)


def deep_size(value: Any, depth: int = 0) -> int:
    """Returns the size of a value and of what it holds, to some depth."""
    size = sys.getsizeof(value, 64)
    if depth == DEEPEST:
        return size
    kind = type(value)
    if kind in (str, bytes, int, float, bool) or value is None:
        return size
    if kind is dict:
        return size + sampled(value.keys(), depth) + sampled(value.values(), depth)
    if kind in (tuple, list, set, frozenset) or isinstance(value, tuple):
        return size + sampled(value, depth)
    # sys.getsizeof ignores a buffer that an array does not own, such as a block.
    buffered = getattr(value, "nbytes", 0)
    if isinstance(buffered, int):
        size = max(size, buffered)
    attributes = getattr(value, "__dict__", None)
    return size + (deep_size(attributes, depth + 1) if isinstance(attributes, dict) else 0)


def sampled(values: Iterable[Any], depth: int) -> int:
    count = len(values)  # type: ignore[arg-type]
    if count <= SAMPLE_ROWS:
        return sum(deep_size(each, depth + 1) for each in values)
    sample = islice(values, SAMPLE_ROWS)
    return sum(deep_size(each, depth + 1) for each in sample) * count // SAMPLE_ROWS
