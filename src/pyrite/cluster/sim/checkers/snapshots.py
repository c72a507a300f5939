"""A task's snapshot has no output that is known to be lost."""

from __future__ import annotations

from pyrite.cluster.sim.checkers import CheckFailed
from pyrite.ids import BlockRef, NodeId, Partition, ShuffleId
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event


class Snapshots:
    """Tracks the joined nodes, and the blocks that were found lost."""

    def __init__(self) -> None:
        self.nodes: set[NodeId] = set()
        self.epochs: dict[ShuffleId, int] = {}
        self.lost: set[BlockRef] = set()

    def see(self, now_s: float, event: Event, commands: list[Command]) -> None:
        match event:
            case ev.NodeJoined():
                self.nodes.add(event.node)
            case ev.NodeLost():
                self.nodes.discard(event.node)
            case ev.FetchFailed():
                self.lost.update(ref for _, ref in event.lost)
            case ev.BlockLost():
                self.lost.add(event.ref)
        for command in commands:
            if isinstance(command, do.LaunchTask):
                self._check(command)

    def _check(self, launch: do.LaunchTask) -> None:
        for snapshot in launch.inputs:
            if snapshot.epoch < self.epochs.get(snapshot.shuffle, 0):
                raise CheckFailed(f"shuffle {snapshot.shuffle} went back to {snapshot.epoch}")
            self.epochs[snapshot.shuffle] = snapshot.epoch
            for index, ref in enumerate(snapshot.refs):
                self._check_ref(ref, f"map output {index} of shuffle {snapshot.shuffle}")
        for partition, ref in launch.blocks:
            self._check_ref(ref, f"the kept {partition_name(partition)}")

    def _check_ref(self, ref: BlockRef, what: str) -> None:
        if ref.node not in self.nodes:
            raise CheckFailed(f"{what} is promised on {ref.node}, which is lost")
        if ref in self.lost:
            raise CheckFailed(f"{what} is promised at {ref}, where it was found lost")


def partition_name(partition: Partition) -> str:
    return f"partition {partition.index} of RDD {partition.rdd}"
