"""Blocks that live and die: the pool's segments, kept partitions, forgotten shuffles."""

from __future__ import annotations

from typing import assert_never

from pyrite.ids import (
    BlockRef,
    ExecutorId,
    Partition,
    RddId,
)
from pyrite.rare import rare
from pyrite.schedule import events as ev
from pyrite.schedule.commands import (
    DropBroadcast,
    DropRdd,
    DropShuffle,
    TellMemory,
)
from pyrite.schedule.rooms import Rooms

BlockEvent = (
    ev.SpaceWanted
    | ev.SegmentMoved
    | ev.SegmentNotMoved
    | ev.NodeLeaves
    | ev.MemoryAsked
    | ev.BlockPut
    | ev.BlocksReleased
    | ev.BlockLost
    | ev.ShuffleForgotten
    | ev.RddPersisted
    | ev.RddForgotten
    | ev.BroadcastForgotten
)


class BlockBook(Rooms):
    """Keeps the ledger of blocks in step with what happens to them."""

    def _on_block_event(self, event: BlockEvent) -> None:
        match event:
            case ev.SpaceWanted():
                self._on_space_wanted(event)
            case ev.SegmentMoved():
                self._on_moved(event)
            case ev.SegmentNotMoved():
                self._on_not_moved(event)
            case ev.NodeLeaves():
                self._on_node_leaves(event)
            case ev.MemoryAsked():
                report = self.book.report(self.ledger)
                self.commands.append(TellMemory(event.question, report))
            case ev.BlockPut():
                self.ledger.pin(event.ref)
            case ev.BlocksReleased():
                self._release(event.refs)
            case ev.ShuffleForgotten():
                self._release(self.outputs.forget(event.shuffle))
                self.commands.append(DropShuffle(event.shuffle))
            case ev.RddPersisted():
                self.persisted.add(event.rdd)
            case ev.RddForgotten():
                self._forget_rdd(event.rdd)
            case ev.BroadcastForgotten():
                self.commands.append(DropBroadcast(event.broadcast))
            case ev.BlockLost():
                if self.kept.drop_block(event.partition, event.ref):
                    rare("a kept block is lost")
                    self._release([event.ref], event.partition.rdd)
            case _:
                assert_never(event)

    def _keep(self, partition: Partition, ref: BlockRef | None, executor: ExecutorId) -> None:
        if ref is not None:
            if not self.ledger.holds(ref):
                rare("a kept block is lost before it was told of")
                return
            self.ledger.pin(ref, partition.rdd)
        if partition.rdd not in self.persisted:
            # Forgotten while the task ran.
            rare("a partition is kept of an RDD that was forgotten")
            self.commands.append(DropRdd(partition.rdd))
        elif ref is None:
            self.kept.add_live(partition, executor)
            return
        elif self.kept.set_block(partition, ref):
            return
        if ref is not None:
            rare("a kept block is of no use")
            self._release([ref], partition.rdd)

    def _forget_rdd(self, rdd: RddId) -> None:
        self.persisted.discard(rdd)
        self.book.forget_rdd(rdd)
        self._release(self.kept.forget_rdd(rdd), rdd)
        self.commands.append(DropRdd(rdd))
