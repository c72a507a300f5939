"""Counts what happened to kept partitions, and reports the pools' memory."""

from __future__ import annotations

from pyrite.blocks.ledger import Ledger
from pyrite.blocks.pool import Pool
from pyrite.ids import RddId
from pyrite.memory import Hits, InputHits, MemoryReport, NodeMemory
from pyrite.schedule.events import KeptNews


class MemoryCounts:
    """Counts where kept partitions were found, and how many of their bytes moved."""

    def __init__(self) -> None:
        self.hits = Hits()
        self.moved_bytes = 0
        self.fetched_bytes = 0
        self.spilled_bytes = 0
        self.dropped_bytes = 0
        self.inputs = InputHits()
        # Partitions computed at least once: the first time is not a cache miss.
        self.computed: dict[RddId, set[int]] = {}

    def add(self, news: KeptNews) -> None:
        again = 0
        self.spilled_bytes += news.spilled_bytes
        for rdd, index in news.computed:
            known = self.computed.setdefault(rdd, set())
            again += index in known
            known.add(index)
        live, pool, remote, disk = news.found
        if again or any(news.found):
            hits = self.hits
            self.hits = Hits(
                hits.live + live,
                hits.pool + pool,
                hits.remote + remote,
                hits.disk + disk,
                hits.recomputed + again,
            )

    def read_input(self, is_found: bool) -> None:
        """Counts a task that reads a block of a ring."""
        found, read = self.inputs
        self.inputs = InputHits(found + is_found, read + (not is_found))

    def forget_rdd(self, rdd: RddId) -> None:
        self.computed.pop(rdd, None)

    def report(self, ledger: Ledger) -> MemoryReport:
        return MemoryReport(
            tuple(node_memory(pool) for pool in ledger.pools.values()),
            self.moved_bytes,
            self.spilled_bytes,
            self.dropped_bytes,
            self.hits,
            self.fetched_bytes,
            self.inputs,
        )


def node_memory(pool: Pool) -> NodeMemory:
    rdds: dict[int, int] = {}
    for segments in pool.kept.values():
        for segment in segments.values():
            for rdd, content in segment.rdds.items():
                rdds[rdd] = rdds.get(rdd, 0) + content.bytes
    return NodeMemory(
        pool.node,
        pool.storage_only,
        pool.capacity_bytes,
        pool.used_bytes,
        pool.used_bytes - pool.own_bytes - pool.input_bytes,
        pool.borrowed_bytes,
        dict(sorted(rdds.items())),
        pool.input_bytes,
        pool.leaves,
    )
