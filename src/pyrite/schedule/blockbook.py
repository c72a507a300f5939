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
    GrantSpace,
)
from pyrite.schedule.state import State

# The owner of the driver's own segments; those of executors are e0, e1...
DRIVER = "driver"

BlockEvent = (
    ev.SpaceWanted
    | ev.BlockPut
    | ev.BlocksReleased
    | ev.BlockLost
    | ev.ShuffleForgotten
    | ev.RddPersisted
    | ev.RddForgotten
    | ev.BroadcastForgotten
)


class BlockBook(State):
    """Keeps the ledger of blocks in step with what happens to them."""

    def _on_block_event(self, event: BlockEvent) -> None:
        match event:
            case ev.SpaceWanted():
                self._grant(event)
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
                    self._release([event.ref])
            case _:
                assert_never(event)

    def _grant(self, event: ev.SpaceWanted) -> None:
        node, owner, segment, size = event
        granted = False
        if owner == DRIVER or ExecutorId(int(owner[1:])) in self.executors:
            granted = self.ledger.want(node, owner, segment, size)
        else:
            # Late words: nobody would ever give the segment back.
            rare("a lost executor wants space")
        if owner == DRIVER:
            self._drop(node, self.ledger.settle(node, owner))
        self.commands.append(GrantSpace(owner, segment, granted))

    def _keep(self, partition: Partition, ref: BlockRef | None, executor: ExecutorId) -> None:
        if ref is not None:
            self.ledger.pin(ref)
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
            self._release([ref])

    def _forget_rdd(self, rdd: RddId) -> None:
        self.persisted.discard(rdd)
        self._release(self.kept.forget_rdd(rdd))
        self.commands.append(DropRdd(rdd))
