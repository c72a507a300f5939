"""What lies in the pools of a cluster's nodes, as data."""

from __future__ import annotations

from typing import NamedTuple


class NodeMemory(NamedTuple):
    """One node's pool."""

    node: str
    storage_only: bool
    size_bytes: int
    used_bytes: int
    # Of the used bytes: what other nodes have laid here.
    lent_bytes: int
    # What this node has laid into the pools of others.
    borrowed_bytes: int
    # Kept partitions in this pool, by the id of their RDD.
    rdds: dict[int, int]
    # Of the used bytes: blocks of a ring's files that tasks have read.
    input_bytes: int = 0
    # Whether it was asked to leave.
    leaves: bool = False


class Hits(NamedTuple):
    """Where tasks found the kept partitions that they wanted to read."""

    live: int = 0
    pool: int = 0
    remote: int = 0
    disk: int = 0
    recomputed: int = 0

    def ratios(self) -> dict[str, float]:
        """The share of each way; empty where nothing was read yet."""
        total = sum(self)
        return {name: count / total for name, count in self._asdict().items()} if total else {}


class InputHits(NamedTuple):
    """How many tasks found their block of a ring's file in memory, and how many read it."""

    found: int = 0
    read: int = 0


class MemoryReport(NamedTuple):
    """All pools at one moment, and what has happened to kept partitions so far."""

    nodes: tuple[NodeMemory, ...]
    # Moved to another node's pool, moved or written to disk for want of room, and given up.
    moved_bytes: int = 0
    spilled_bytes: int = 0
    dropped_bytes: int = 0
    hits: Hits = Hits()
    # What reducers were to read, and was fetched to their nodes before they started.
    fetched_bytes: int = 0
    inputs: InputHits = InputHits()

    def __str__(self) -> str:
        lines = [f"{'node':<12}{'size':>10}{'used':>10}{'lent':>10}{'borrowed':>10}  kept by RDD"]
        for node in self.nodes:
            sizes = [node.size_bytes, node.used_bytes, node.lent_bytes, node.borrowed_bytes]
            cells = "".join(f"{bytes_text(each):>10}" for each in sizes)
            rdds = ", ".join(f"{rdd}: {bytes_text(size)}" for rdd, size in node.rdds.items())
            lines.append(f"{node.node:<12}{cells}  {rdds}".rstrip())
        lines.append(
            f"moved {bytes_text(self.moved_bytes)}, spilled {bytes_text(self.spilled_bytes)}, "
            f"dropped {bytes_text(self.dropped_bytes)}, "
            f"fetched ahead {bytes_text(self.fetched_bytes)}"
        )
        shares = ", ".join(f"{name} {share:.0%}" for name, share in self.hits.ratios().items())
        lines.append(f"kept partitions were read: {shares or 'none yet'}")
        if any(self.inputs):
            lines.append(f"blocks of rings: {self.inputs.found} in memory, {self.inputs.read} read")
        return "\n".join(lines)


def bytes_text(size_bytes: float) -> str:
    """A size to read.

    >>> bytes_text(0), bytes_text(1536), bytes_text(8 << 30)
    ('0', '1.5 KiB', '8 GiB')
    """
    if size_bytes < 1:
        return "0"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size_bytes < 1000 or unit == "TiB":
            break
        size_bytes /= 1024
    return f"{size_bytes:.3g} {unit}"
