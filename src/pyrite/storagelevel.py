"""Where the partitions of a persisted RDD are kept."""

from typing import ClassVar


class StorageLevel:
    """How a persisted RDD is kept: in memory, on disk, encoded or live, and how many times.

    - ``MEMORY_ONLY``: live rows in the heap of the executor that computed them, the fastest to
      read; a partition that doesn't fit, or is evicted, is computed again.
    - ``MEMORY_AND_DISK``: the same, but what doesn't fit or is evicted goes to disk.
    - ``MEMORY_AND_DISK_DESER``: as ``MEMORY_AND_DISK``; PySpark has it apart because its other
      levels always encode.
    - ``DISK_ONLY``: encoded, on the node's disk.
    - ``OFF_HEAP``: the pooled level: encoded in the shared memory of its node, or of another
      that has room; read by every executor of that node without copying, safe from an executor's
      crash, evicted to disk.
    - ``..._2`` and ``..._3``: of memory levels, a further copy in another node's pool.

    >>> StorageLevel.MEMORY_AND_DISK_2
    StorageLevel(True, True, False, False, 2)
    >>> print(StorageLevel.MEMORY_AND_DISK_2)
    Disk Memory Serialized 2x Replicated
    """

    NONE: ClassVar["StorageLevel"]
    DISK_ONLY: ClassVar["StorageLevel"]
    DISK_ONLY_2: ClassVar["StorageLevel"]
    DISK_ONLY_3: ClassVar["StorageLevel"]
    MEMORY_ONLY: ClassVar["StorageLevel"]
    MEMORY_ONLY_2: ClassVar["StorageLevel"]
    MEMORY_AND_DISK: ClassVar["StorageLevel"]
    MEMORY_AND_DISK_2: ClassVar["StorageLevel"]
    OFF_HEAP: ClassVar["StorageLevel"]
    MEMORY_AND_DISK_DESER: ClassVar["StorageLevel"]

    def __init__(
        self,
        useDisk: bool,
        useMemory: bool,
        useOffHeap: bool,
        deserialized: bool,
        replication: int = 1,
    ) -> None:
        self.useDisk = useDisk
        self.useMemory = useMemory
        self.useOffHeap = useOffHeap
        self.deserialized = deserialized
        self.replication = replication

    def _parts(self) -> tuple[bool, bool, bool, bool, int]:
        return (
            self.useDisk,
            self.useMemory,
            self.useOffHeap,
            self.deserialized,
            self.replication,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StorageLevel) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __repr__(self) -> str:
        return f"StorageLevel{self._parts()}"

    def __str__(self) -> str:
        places = {"Disk": self.useDisk, "Memory": self.useMemory, "OffHeap": self.useOffHeap}
        words = [place for place, used in places.items() if used]
        words.append("Deserialized" if self.deserialized else "Serialized")
        return " ".join([*words, f"{self.replication}x Replicated"])


StorageLevel.NONE = StorageLevel(False, False, False, False)
StorageLevel.DISK_ONLY = StorageLevel(True, False, False, False)
StorageLevel.DISK_ONLY_2 = StorageLevel(True, False, False, False, 2)
StorageLevel.DISK_ONLY_3 = StorageLevel(True, False, False, False, 3)
StorageLevel.MEMORY_ONLY = StorageLevel(False, True, False, False)
StorageLevel.MEMORY_ONLY_2 = StorageLevel(False, True, False, False, 2)
StorageLevel.MEMORY_AND_DISK = StorageLevel(True, True, False, False)
StorageLevel.MEMORY_AND_DISK_2 = StorageLevel(True, True, False, False, 2)
StorageLevel.OFF_HEAP = StorageLevel(True, True, True, False, 1)
StorageLevel.MEMORY_AND_DISK_DESER = StorageLevel(True, True, False, True)
