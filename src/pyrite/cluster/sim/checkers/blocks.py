"""No segment is dropped while it is needed, and the ledger agrees with the files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

from pyrite.cluster.sim.checkers import CheckFailed
from pyrite.cluster.sim.store import SimNode
from pyrite.ids import BlockRef, NodeId
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event
from pyrite.schedule.replication import MOST_TRIES
from pyrite.schedule.scheduler import Scheduler
from pyrite.schedule.timer import LeaveBy


class NeededBlocks:
    """Tracks blocks while they are needed."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.held: Counter[BlockRef] = Counter()
        # Nodes whose deadline is over: they leave, whatever they hold.
        self.hurried: set[NodeId] = set()

    def see(self, now_s: float, event: Event, commands: list[Command]) -> None:
        match event:
            case ev.BlockPut():
                self.held[event.ref] += 1
            case ev.BlocksReleased():
                self.held.subtract(event.refs)
                self.held = +self.held
            case ev.TimerFired(LeaveBy(node)):
                self.hurried.add(node)
            case ev.NodeJoined() | ev.NodeLost():
                self.hurried.discard(event.node)
                for ref in [each for each in self.held if each.node == event.node]:
                    del self.held[ref]
        for command in commands:
            if isinstance(command, do.DeliverResult) and isinstance(command.result, tuple):
                self.held.update(command.result)
            elif isinstance(command, do.DropSegments):
                self._check(command.node, set(command.segments))
            elif isinstance(command, do.ReleaseNode) and command.node not in self.hurried:
                self._check(command.node, None)

    def _check(self, node: NodeId, dropped: set[str] | None) -> None:
        """Checks that dropped segments, or all of the node's, are not needed."""
        for what, ref in self._needed():
            if dropped is None and "map output" in what and not self._is_copyable(ref):
                continue
            if ref.node == node and (dropped is None or ref.segment in dropped):
                raise CheckFailed(f"segment {ref.segment} of {ref.node} is dropped with {what}")

    def _is_copyable(self, ref: BlockRef) -> bool:
        """Whether a map output could have been copied to another node."""
        return any(
            outputs.is_copyable(index, MOST_TRIES)
            for outputs in self.scheduler.outputs
            for index in outputs.on(ref.node)
            if outputs.refs[index] == ref
        )

    def _needed(self) -> Iterator[tuple[str, BlockRef]]:
        for outputs in self.scheduler.outputs:
            shuffle = outputs.shuffle
            for index, output in enumerate(outputs.refs):
                if output is not None:
                    yield f"map output {index} of shuffle {shuffle}", output
        for partition, ref in self.scheduler.storage.kept.all_blocks():
            yield f"partition {partition.index} of RDD {partition.rdd}", ref
        for attempt in self.scheduler.attempts:
            for partition, ref in attempt.blocks:
                # Blocks that were lost with their node are not in the ledger.
                if ref.segment in self.scheduler.storage.ledger.segments:
                    yield f"partition {partition}, which attempt {attempt.id} reads", ref
        for ref in self.held:
            yield "a block of the driver's", ref


def strays(node: SimNode, scheduler: Scheduler) -> list[str]:
    """Files on a node that the ledger does not know, leftover spills included."""
    pool = scheduler.storage.ledger.pools.get(NodeId(node.id))
    segments = scheduler.storage.ledger.segments.values()
    known = {each.name for each in segments if pool is not None and each.place == node.id}
    names = [*os.listdir(node.folders.memory), *os.listdir(node.folders.disk)]
    return sorted(name for name in names if name not in known)
