"""Accumulator updates count once for each partition of a stage."""

from __future__ import annotations

from pyrite.cluster.sim.checkers import CheckFailed
from pyrite.ids import AttemptId, ShuffleId, StageId
from pyrite.plan.stages import new_stages
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event


class Counting:
    """Tracks which updates were counted, by the event that delivered them."""

    def __init__(self) -> None:
        self.launches: dict[AttemptId, do.LaunchTask] = {}
        self.writes: dict[StageId, ShuffleId | None] = {}
        self.counted: set[tuple[object, int]] = set()
        # What the pieces of divided reducers told: it counts when the pieces are merged.
        self.pieces: dict[tuple[StageId, int], dict[object, bytes]] = {}

    def see(self, now_s: float, event: Event, commands: list[Command]) -> None:
        if isinstance(event, ev.JobSubmitted):
            for stage in new_stages(event.job.stage, self.writes):
                self.writes[stage.id] = stage.writes
        elif isinstance(event, ev.ShuffleForgotten):
            self.counted = {each for each in self.counted if each[0] != event.shuffle}
        elif isinstance(event, ev.TaskSucceeded):
            self._hear_piece(event)
        counts = [each for each in commands if isinstance(each, do.CountAccumulators)]
        if counts:
            self._count(event, counts)
        for command in commands:
            if isinstance(command, do.LaunchTask):
                self.launches[command.attempt] = command

    def _hear_piece(self, event: ev.TaskSucceeded) -> None:
        launch = self.launches.get(event.attempt)
        if launch is None or launch.completes or launch.divided is None:
            return
        told = self.pieces.setdefault((launch.stage, launch.partitions[0]), {})
        if event.made[0].accumulators is not None:
            told[launch.divided.maps] = event.made[0].accumulators

    def _count(self, event: Event, counts: list[do.CountAccumulators]) -> None:
        if not isinstance(event, ev.TaskSucceeded):
            raise CheckFailed(f"{len(counts)} updates counted at {type(event).__name__}")
        launch = self.launches[event.attempt]
        # After a checkpoint the same shuffle may be written by another stage.
        shuffle = self.writes[launch.stage]
        brought = [
            (partition, made.accumulators)
            for partition, made in zip(launch.completes, event.made, strict=True)
        ]
        for count in counts:
            if self._is_of_piece(launch, count):
                continue
            # In the order of the task's partitions, of which some may not count.
            while brought and brought[0][1] is not count.updates:
                del brought[0]
            if not brought:
                raise CheckFailed(f"updates counted at attempt {event.attempt} that it told not")
            partition, _ = brought.pop(0)
            where = (("result", launch.stage) if shuffle is None else shuffle), partition
            if where in self.counted:
                raise CheckFailed(f"updates of {where} were counted twice")
            self.counted.add(where)

    def _is_of_piece(self, launch: do.LaunchTask, count: do.CountAccumulators) -> bool:
        """Whether a piece of the reducer that was merged told these updates; each counts once."""
        if launch.divided is None:
            return False
        told = self.pieces.get((launch.stage, launch.partitions[0]), {})
        for maps, updates in told.items():
            if updates is count.updates:
                del told[maps]
                return True
        return False
