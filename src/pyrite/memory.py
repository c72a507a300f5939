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


class MemoryReport(NamedTuple):
    """All pools at one moment, and what has happened to kept partitions so far."""

    nodes: tuple[NodeMemory, ...]
    # Moved to another node's pool, moved or written to disk for want of room, and given up.
    moved_bytes: int = 0
    spilled_bytes: int = 0
    dropped_bytes: int = 0
    hits: Hits = Hits()

    def __str__(self) -> str:
        lines = [f"{'node':<12}{'size':>10}{'used':>10}{'lent':>10}{'borrowed':>10}  kept by RDD"]
        for node in self.nodes:
            sizes = [node.size_bytes, node.used_bytes, node.lent_bytes, node.borrowed_bytes]
            cells = "".join(f"{short(each):>10}" for each in sizes)
            rdds = ", ".join(f"{rdd}: {short(size)}" for rdd, size in node.rdds.items())
            lines.append(f"{node.node:<12}{cells}  {rdds}".rstrip())
        lines.append(
            f"moved {short(self.moved_bytes)}, spilled {short(self.spilled_bytes)}, "
            f"dropped {short(self.dropped_bytes)}"
        )
        shares = ", ".join(f"{name} {share:.0%}" for name, share in self.hits.ratios().items())
        lines.append(f"kept partitions were read: {shares or 'none yet'}")
        return "\n".join(lines)


def short(size: int) -> str:
    """A size as people read it."""
    value = float(size)
    for unit in ("", "K", "M"):
        if value < 1000:
            return f"{value:.3g}{unit}"
        value /= 1024
    return f"{value:.3g}G" if value < 1000 else f"{value:.0f}G"
