"""The contents of all nodes' pools and disks, and what is still needed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from pyrite.blocks.ledger import Drop, Ledger
from pyrite.blocks.pool import Segment
from pyrite.ids import DRIVER, BlockRef, ExecutorId, NodeId, RddId
from pyrite.memory import MemoryReport
from pyrite.probe import probe
from pyrite.schedule import events as ev
from pyrite.schedule.cachedinputs import CachedInputs
from pyrite.schedule.commands import DropRdd, DropSegments, TellMemory
from pyrite.schedule.kept import Kept
from pyrite.schedule.memorycounts import MemoryCounts
from pyrite.schedule.turn import Turn


class Storage:
    """Keeps the ledger of segments and the locations of kept partitions consistent."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.ledger = Ledger()
        self.kept = Kept()
        self.inputs = CachedInputs()
        self.ledger.on_evicted = self._on_input_evicted
        self.book = MemoryCounts()
        self._persisted: set[RddId] = set()
        # Whether there may be more room since prefetching last looked for it.
        self._has_freed_room = False

    # Segments

    def release(self, refs: Iterable[BlockRef], rdd: RddId | None = None) -> None:
        """Releases blocks that are not needed; kept ones are partitions of `rdd`."""
        self.drop([drop for ref in refs for drop in self.ledger.release(ref, rdd)])

    def drop(self, drops: Sequence[Drop]) -> None:
        """Orders the removal of segments that the ledger no longer lists."""
        if not drops:
            return
        by_node: dict[NodeId, list[str]] = {}
        for node, segment in drops:
            by_node.setdefault(node, []).append(segment)
        for node, segments in by_node.items():
            self.turn.add(DropSegments(node, tuple(segments)))
            self.seek_room()

    def end_reading(self, segments: Iterable[str]) -> None:
        """Ends a task's use of segments: they may be moved or removed."""
        for segment in segments:
            self.drop(self.ledger.end_use(segment))

    @property
    def has_freed_room(self) -> bool:
        return self._has_freed_room

    def seek_room(self) -> None:
        """Has prefetching look for room again."""
        self._has_freed_room = True

    def forget_freed_room(self) -> None:
        """Marks freed room as seen by prefetching."""
        self._has_freed_room = False

    # Kept partitions

    @property
    def persisted(self) -> Collection[RddId]:
        return self._persisted

    def on_persisted(self, event: ev.RddPersisted) -> None:
        self._persisted.add(event.rdd)

    def on_forgotten(self, event: ev.RddForgotten) -> None:
        rdd = event.rdd
        self._persisted.discard(rdd)
        self.book.forget_rdd(rdd)
        self.release(self.kept.forget_rdd(rdd), rdd)
        self.turn.add(DropRdd(rdd))

    def on_block_lost(self, event: ev.BlockLost) -> None:
        partition = event.partition
        if event.ref in self.kept.blocks(partition):
            probe("a kept block is lost")
            self.release(self.kept.drop_blocks(partition), partition.rdd)
        elif event.ref in self.kept.blocks_near(partition, event.ref.node):
            probe("a replica is lost")
            self.release(self.kept.drop_replica(partition, event.ref.node), partition.rdd)

    def learn(self, executor: ExecutorId, news: ev.KeptNews) -> None:
        """Records what a task reported about kept partitions."""
        self.book.add(news)
        for partition in news.dropped:
            self.kept.drop_live(partition, executor)
        for stored in news.stored:
            self._keep(stored, executor)
        for each in news.inputs:
            self._learn_input(executor, each)
        # Only now: a segment that the task filled may hold blocks that it reports here.
        self.drop(self.ledger.settle(executor))

    def _keep(self, stored: ev.Stored, executor: ExecutorId) -> None:
        partition, refs, size, _ = stored
        there = [ref for ref in refs if self.ledger.holds(ref)]
        for ref in there:
            self.ledger.pin(ref, executor, partition.rdd)
        if len(there) < len(refs):
            probe("a kept block is lost before it was told of")
            self.release(there, partition.rdd)
            return
        if partition.rdd not in self._persisted:
            # The RDD was unpersisted while the task ran.
            probe("a partition is kept of an RDD that was forgotten")
            self.turn.add(DropRdd(partition.rdd))
        elif not refs:
            self.kept.add_live(partition, executor, size)
        elif self.kept.set_blocks(partition, refs):
            return
        if refs:
            probe("a kept block is of no use")
            self.release(refs, partition.rdd)

    # Cached input

    def _learn_input(self, executor: ExecutorId, news: ev.InputNews) -> None:
        key, ref, is_lost = news
        if is_lost:
            if self.inputs.find(key, ref.node) == ref:
                probe("cached input is lost")
                self.inputs.forget(ref.segment)
                self.release([ref])
        elif self.ledger.holds(ref):
            self.ledger.pin(ref, executor)
            if not self.inputs.add(key, ref):
                probe("two tasks cache the same input")
                self.release([ref])

    def _on_input_evicted(self, segment: Segment) -> None:
        self.inputs.forget(segment.name)
        self.drop([(segment.place, segment.name)])

    # Other blocks, and memory reports

    def on_put(self, event: ev.BlockPut) -> None:
        self.ledger.pin(event.ref, DRIVER)

    def on_released(self, event: ev.BlocksReleased) -> None:
        self.release(event.refs)

    def on_asked(self, event: ev.MemoryAsked) -> None:
        self.turn.add(TellMemory(event.question, self.report()))

    def report(self) -> MemoryReport:
        """What is in the pools now."""
        return self.book.report(self.ledger)
