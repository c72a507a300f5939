"""The rows of R3S's figure 4: engines, levels, and how much memory each has for the cached set."""

from collections.abc import Callable
from dataclasses import dataclass, field

NODES = 2
MIB = 1 << 20
# A partition as it is kept: the matrix, its frame, and what aligns it.
BLOCK_BYTES = MIB
SEGMENT_BYTES = 16 * MIB
AMPLE_BYTES = 512 * MIB
# Of an executor's memory: the part that kept rows may take.
KEPT = 0.7
# Spark's: what the JVM keeps for itself before spark.memory.fraction applies.
JVM_HEAP_BYTES = 1 << 30
JVM_RESERVED_BYTES = 300 * MIB


@dataclass(frozen=True)
class Row:
    """One way to keep the set: `settings` gives those for a set of so many partitions."""

    name: str
    engine: str
    level: str
    settings: Callable[[int], dict[str, str]]
    # Whether disks or the input are read, so that the page cache matters.
    is_cold_too: bool = False
    # What the paper compares: pooled, disk or recomputed.
    kind: str = ""
    # Where the half that does not fit must be found: elsewhere, on_disk or recomputed.
    other_half: str = ""
    extra: dict[str, str] = field(default_factory=dict)
    # What else each executor keeps, so that half of the set finds room.
    filler_bytes: Callable[[int], int] = lambda partitions: 0

    def settings_for(self, partitions: int, scratch: str) -> dict[str, str]:
        common = {"spark.local.dir": scratch}
        if self.engine == "pyspark":
            # So that both engines keep the same bytes.
            common |= {"spark.rdd.compress": "false"}
        return {**common, **self.settings(partitions), **self.extra}

    def executor_bytes(self, partitions: int) -> int:
        """The limit of an executor's own memory."""
        text = self.settings(partitions).get("spark.executor.memory", "0m")
        return int(text.removesuffix("m")) * MIB


def pyrite(executor_bytes: int, pool_bytes: int, storage_bytes: int = 0) -> dict[str, str]:
    """Two nodes of one executor, and a storage-only one if it is to have any memory."""
    storage = f",1x{megabytes(storage_bytes)}" if storage_bytes else ""
    return {
        "spark.master": f"local-cluster[{NODES},1,4g{storage}]",
        "spark.executor.memory": megabytes(executor_bytes),
        "pyrite.pool.memory": megabytes(pool_bytes),
    }


def pyspark(storage_bytes: int | None) -> dict[str, str]:
    """Two executors of 1 GB; of it they may keep this much, or as much as is Spark's default."""
    settings = {
        "spark.master": f"local-cluster[{NODES},1,{JVM_HEAP_BYTES // MIB}]",
        "spark.executor.memory": megabytes(JVM_HEAP_BYTES),
    }
    if storage_bytes is not None:
        share = storage_bytes / (JVM_HEAP_BYTES - JVM_RESERVED_BYTES)
        settings["spark.memory.fraction"] = f"{share:.5f}"
    return settings


def megabytes(size_bytes: int) -> str:
    return f"{-(-size_bytes // MIB)}m"


def whole_segments(size_bytes: int) -> int:
    return -(-size_bytes // SEGMENT_BYTES) * SEGMENT_BYTES


def node_share(partitions: int, part: float) -> int:
    """What a node must hold for that part of the set to lie on the nodes that compute."""
    return int(partitions * BLOCK_BYTES * part / NODES)


def whole_pooled(partitions: int) -> dict[str, str]:
    # More than a half each, since one executor may take more tasks than the other.
    return pyrite(AMPLE_BYTES, whole_segments(node_share(partitions, 1.25)))


def half_pooled(partitions: int) -> dict[str, str]:
    return pyrite(AMPLE_BYTES, node_share(partitions, 0.5))


def half_pooled_and_storage(partitions: int) -> dict[str, str]:
    storage_bytes = whole_segments(int(partitions * BLOCK_BYTES * 0.625))
    return pyrite(AMPLE_BYTES, node_share(partitions, 0.5), storage_bytes)


def ample_live(partitions: int) -> dict[str, str]:
    return pyrite(ample_bytes(partitions), 64 * MIB)


def ample_bytes(partitions: int) -> int:
    """An executor's memory that takes its part of the set as live rows, and more."""
    return max(AMPLE_BYTES, int(node_share(partitions, 1.25) / KEPT))


def filler(partitions: int) -> int:
    """What else an ample executor must keep for half of the set to find room as live rows."""
    return int(ample_bytes(partitions) * KEPT) - node_share(partitions, 0.5)


def half_spark(partitions: int) -> dict[str, str]:
    # A block more, which it wants for its broadcasts and for what it is about to store.
    return pyspark(node_share(partitions, 0.5) + BLOCK_BYTES)


ENCODED = {"pyrite.cache.liveRows": "false"}

# fmt: off
ROWS: dict[str, list[Row]] = {
    "whole": [
        Row("live rows", "pyrite", "MEMORY_ONLY", ample_live),
        Row("pooled", "pyrite", "OFF_HEAP", whole_pooled, kind="pooled"),
        # Its MEMORY_AND_DISK encodes alike, and differs only when something does not fit.
        Row("MEMORY_ONLY", "pyspark", "MEMORY_ONLY", lambda _: pyspark(None)),
    ],
    "half": [
        Row("pooled, half on a storage-only node", "pyrite", "OFF_HEAP",
            half_pooled_and_storage, kind="pooled", other_half="elsewhere"),
        Row("pooled, half on disk", "pyrite", "OFF_HEAP",
            half_pooled, True, "disk", "on_disk"),
        Row("live rows, half on disk", "pyrite", "MEMORY_AND_DISK",
            ample_live, True, other_half="on_disk", filler_bytes=filler),
        Row("encoded, half recomputed", "pyrite", "MEMORY_ONLY",
            half_pooled, True, "recomputed", "recomputed", ENCODED),
        Row("live rows, half recomputed", "pyrite", "MEMORY_ONLY",
            ample_live, True, other_half="recomputed", filler_bytes=filler),
        Row("MEMORY_AND_DISK", "pyspark", "MEMORY_AND_DISK",
            half_spark, True, other_half="on_disk"),
        Row("MEMORY_ONLY", "pyspark", "MEMORY_ONLY", half_spark, other_half="recomputed"),
    ],
}
# fmt: on
