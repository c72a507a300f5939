"""Only lost map outputs are recomputed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pyrite.cluster.sim.checkers import CheckFailed
from pyrite.ids import AttemptId, BlockRef, ExecutorId, NodeId, ShuffleId, StageId
from pyrite.plan.stages import StageSpec, new_stages
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event


class KnownOutput(NamedTuple):
    """An available map output, and the stage that wrote it."""

    stage: StageId
    ref: BlockRef


class Economy:
    """Tracks map outputs from the story alone, independently of the scheduler's state."""

    def __init__(self) -> None:
        self.stages: dict[StageId, StageSpec] = {}
        self.launches: dict[AttemptId, do.LaunchTask] = {}
        self.nodes: dict[ExecutorId, NodeId] = {}
        self.made: dict[ShuffleId, dict[int, KnownOutput]] = {}
        self.moves: dict[int, do.MoveSegment] = {}
        self.leaving: set[NodeId] = set()

    def see(self, now_s: float, event: Event, commands: list[Command]) -> None:
        match event:
            case ev.JobSubmitted():
                for stage in new_stages(event.job.stage, self.stages):
                    self.stages[stage.id] = stage
            case ev.TaskSucceeded() if event.blocks():
                self._make(event)
            case ev.FetchFailed():
                for index, ref in event.lost:
                    self._lose(event.shuffle, index, ref)
            case ev.NodeLeaves():
                self.leaving.add(event.node)
            case ev.NodeLost() | ev.NodeJoined():
                self._lose_node(event.node)
                self._lose_executors({e for e, node in self.nodes.items() if node == event.node})
            case ev.ExecutorJoined():
                self.nodes[event.executor] = event.node
            case ev.ExecutorLost():
                self._lose_executors({event.executor})
            case ev.ShuffleForgotten():
                self.made.pop(event.shuffle, None)
            case ev.SegmentMoved():
                self._move(event.move, commands)
            case ev.SegmentNotMoved():
                self.moves.pop(event.move, None)
        for command in commands:
            if isinstance(command, do.NodeDismissed):
                self.leaving.add(command.node)
            elif isinstance(command, do.MoveSegment):
                self.moves[command.move] = command
            elif isinstance(command, do.LaunchTask):
                self._check(command)
            elif isinstance(command, do.DropSegments) and command.node in self.leaving:
                # A replica has taken the place of what leaves with its node.
                self._leave(command.node, command.segments)
            elif isinstance(command, do.CancelTask):
                # If it still succeeds, its output does not count.
                self.launches.pop(command.attempt, None)

    def _make(self, event: ev.TaskSucceeded) -> None:
        launch = self.launches.pop(event.attempt, None)
        # A piece of a reducer completes no partition.
        if launch is None or not launch.completes:
            return
        stage = self.stages[launch.stage]
        # Outputs of a barrier stage count only once all of its tasks have succeeded.
        if stage.writes is not None and not stage.barrier:
            outputs = self.made.setdefault(stage.writes, {})
            for partition, made in zip(launch.completes, event.made, strict=True):
                if made.output is not None:
                    outputs.setdefault(partition, KnownOutput(launch.stage, made.output))

    def _lose(self, shuffle: ShuffleId, index: int, ref: BlockRef) -> None:
        outputs = self.made.get(shuffle, {})
        if index in outputs and ref == outputs[index].ref:
            del outputs[index]

    def _leave(self, node: NodeId, segments: Sequence[str]) -> None:
        for outputs in self.made.values():
            for index, made in list(outputs.items()):
                if made.ref.node == node and made.ref.segment in segments:
                    del outputs[index]

    def _lose_node(self, node: NodeId) -> None:
        self.leaving.discard(node)
        for outputs in self.made.values():
            for index in [i for i, made in outputs.items() if made.ref.node == node]:
                del outputs[index]

    def _move(self, id: int, commands: list[Command]) -> None:
        """Outputs are where their segment was moved to, unless the copy came too late."""
        move = self.moves.pop(id, None)
        drops = [
            name for each in commands if isinstance(each, do.DropSegments) for name in each.segments
        ]
        if move is None or move.new_segment in drops:
            return
        for outputs in self.made.values():
            for index, (stage, ref) in outputs.items():
                if ref.node == move.node and ref.segment == move.segment:
                    there = ref._replace(
                        node=move.target, segment=move.new_segment, medium=move.medium
                    )
                    outputs[index] = KnownOutput(stage, there)

    def _lose_executors(self, lost: set[ExecutorId]) -> None:
        for executor in lost:
            self.nodes.pop(executor, None)
        launches = self.launches.items()
        self.launches = {id: each for id, each in launches if each.executor not in lost}

    def _check(self, launch: do.LaunchTask) -> None:
        self.launches[launch.attempt] = launch
        stage = self.stages[launch.stage]
        if stage.writes is None:
            return
        for partition in launch.completes:
            made = self.made.get(stage.writes, {}).get(partition)
            # After a checkpoint another stage may write the same shuffle; and a replica that has
            # taken the place of an output on a leaving node may be lost while that is still there.
            is_leaving = made is not None and made.ref.node in self.leaving
            if made is not None and made.stage == launch.stage and not is_leaving:
                raise CheckFailed(
                    f"map output {partition} of shuffle {stage.writes} is made again, "
                    f"though it lies at {made.ref}"
                )
