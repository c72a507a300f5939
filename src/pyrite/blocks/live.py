"""Live rows: partitions kept as Python objects in an executor's heap."""

from __future__ import annotations

import gc
from typing import Any

from pyrite.blocks.evict import LastUse, choose_victim
from pyrite.ids import Partition, RddId
from pyrite.storagelevel import StorageLevel


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
        # Partitions of which other executors hold a copy.
        self.replicas: dict[Partition, None] = {}

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
        for replica in self.replicas:
            if replica.rdd != storing:
                return replica
        rdd = choose_victim(self.uses, storing, priority)
        return None if rdd is None else Partition(rdd, next(reversed(self.rdds[rdd])))

    def remove(self, partition: Partition) -> LivePartition:
        self.replicas.pop(partition, None)
        entries = self.rdds[partition.rdd]
        entry = entries.pop(partition.index)
        self.used_bytes -= entry.size_bytes
        if not entries:
            del self.rdds[partition.rdd]
            del self.uses[partition.rdd]
        return entry

    def rate(self, partition: Partition, is_replica: bool) -> None:
        """Learns whether others hold a copy of a partition: then it is evicted first."""
        self.replicas.pop(partition, None)
        if is_replica and partition.index in self.rdds.get(partition.rdd, ()):
            self.replicas[partition] = None

    def drop(self, partition: Partition) -> None:
        """Forgets a partition, if it is there still."""
        if partition.index in self.rdds.get(partition.rdd, ()):
            self.remove(partition)
            self._unsettle()

    def forget(self, rdd: RddId) -> None:
        for replica in [each for each in self.replicas if each.rdd == rdd]:
            del self.replicas[replica]
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
