"""What lies in the pools and on the disks of all nodes, and who still needs it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from pyrite.blocks.ledger import Drop, Ledger
from pyrite.ids import DRIVER, BlockRef, ExecutorId, NodeId, Partition, RddId
from pyrite.probe import probe
from pyrite.schedule import events as ev
from pyrite.schedule.commands import DropRdd, DropSegments, TellMemory
from pyrite.schedule.kept import Kept
from pyrite.schedule.memorycounts import MemoryCounts
from pyrite.schedule.turn import Turn


class Storage:
    """Keeps the ledger of segments and the places of kept partitions in step."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.ledger = Ledger()
        self.kept = Kept()
        self.book = MemoryCounts()
        self._persisted: set[RddId] = set()
        # Whether something has gone since prefetching last looked for room.
        self._has_freed_room = False

    # Segments

    def release(self, refs: Iterable[BlockRef], rdd: RddId | None = None) -> None:
        """Nobody needs these blocks any more; they are partitions of the RDD, if they are kept."""
        self.drop([drop for ref in refs for drop in self.ledger.release(ref, rdd)])

    def drop(self, drops: Sequence[Drop]) -> None:
        """Has segments removed that the ledger no longer lists."""
        if not drops:
            return
        gone: dict[NodeId, list[str]] = {}
        for node, segment in drops:
            gone.setdefault(node, []).append(segment)
        for node, segments in gone.items():
            self.turn.add(DropSegments(node, tuple(segments)))
            self._has_freed_room = True

    def end_reading(self, segments: Iterable[str]) -> None:
        """A task reads these no more: they may be moved, or go."""
        for segment in segments:
            self.drop(self.ledger.end_use(segment))

    @property
    def has_freed_room(self) -> bool:
        return self._has_freed_room

    def forget_freed_room(self) -> None:
        """Whoever waited for room has looked at what was freed so far."""
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
        if self.kept.drop_block(event.partition, event.ref):
            probe("a kept block is lost")
            self.release([event.ref], event.partition.rdd)

    def learn(self, executor: ExecutorId, news: ev.KeptNews) -> None:
        """Takes in what a task did with kept partitions."""
        self.book.add(news)
        for partition in news.dropped:
            self.kept.drop_live(partition, executor)
        for stored in news.stored:
            self._keep(stored.partition, stored.ref, executor)
        # Not before: a segment that the task filled may hold what it tells of only now.
        self.drop(self.ledger.settle(executor))

    def _keep(self, partition: Partition, ref: BlockRef | None, executor: ExecutorId) -> None:
        if ref is not None:
            if not self.ledger.holds(ref):
                probe("a kept block is lost before it was told of")
                return
            self.ledger.pin(ref, executor, partition.rdd)
        if partition.rdd not in self._persisted:
            # Forgotten while the task ran.
            probe("a partition is kept of an RDD that was forgotten")
            self.turn.add(DropRdd(partition.rdd))
        elif ref is None:
            self.kept.add_live(partition, executor)
            return
        elif self.kept.set_block(partition, ref):
            return
        if ref is not None:
            probe("a kept block is of no use")
            self.release([ref], partition.rdd)

    # Other blocks, and questions

    def on_put(self, event: ev.BlockPut) -> None:
        self.ledger.pin(event.ref, DRIVER)

    def on_released(self, event: ev.BlocksReleased) -> None:
        self.release(event.refs)

    def on_asked(self, event: ev.MemoryAsked) -> None:
        self.turn.add(TellMemory(event.question, self.book.report(self.ledger)))
