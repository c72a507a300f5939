"""Groups tiny reducers into one task, where launching each alone would cost more than its work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyrite.ids import NodeId, PieceId, TaskKey
from pyrite.probe import probe
from pyrite.schedule.commands import ReducersGrouped
from pyrite.schedule.fleet import Executor, Fleet
from pyrite.schedule.outputs import Outputs
from pyrite.schedule.prefetch.prefetcher import Prefetcher
from pyrite.schedule.rules import Rules
from pyrite.schedule.stages import StageRun
from pyrite.schedule.storage import Storage
from pyrite.schedule.taskset import TaskSet
from pyrite.schedule.turn import Turn

# Upper bound of a group's expected duration, estimated from the stage's earlier tasks: input size
# does not predict how long functions run, and reducers behind a slow one could run elsewhere. In a
# long stage a group may take a share of the time that is left, up to a second.
USUAL_S = 0.1
LEFT_SHARE = 1 / 16
LONGEST_S = 1.0
# Beyond so many maps a group may read more, as its parts are shorter: with the default, one of less
# than a kilobyte costs more to request from its map's node than to read.
USUAL_MAPS = 256


@dataclass(frozen=True, slots=True)
class Inputs:
    """The input sizes of a stage's reducers: known for each, or an average in a small shuffle."""

    how: str
    # The number of map outputs that each reads a part of.
    maps: int
    total_bytes: float
    each_bytes: float = 0.0
    by_reducer: Mapping[int, int] | None = None

    def of(self, index: int) -> float | None:
        """Returns the input size of one reducer, if known."""
        return self.each_bytes if self.by_reducer is None else self.by_reducer.get(index)


class Grouping:
    """Chooses which further reducers join a task that an executor gets."""

    def __init__(
        self,
        turn: Turn,
        rules: Rules,
        fleet: Fleet,
        outputs: Outputs,
        storage: Storage,
        prefetcher: Prefetcher,
    ) -> None:
        self.turn = turn
        self.rules = rules
        self.fleet = fleet
        self.outputs = outputs
        self.storage = storage
        self.prefetcher = prefetcher

    def group(
        self, run: StageRun, tasks: TaskSet, executor: Executor, first: TaskKey, own: bool
    ) -> tuple[TaskKey, ...]:
        """Returns the tasks of one launch: `first`, and further ones from the executor's own or
        from those that any executor may take."""
        if run.groups:
            return self._collection_group(run, tasks, first)
        if not run.spec.shape.shuffles:
            return (first,)
        most = self._most_together(run, tasks)
        inputs = self._inputs(run, tasks) if most > 1 else None
        if inputs is None:
            return (first,)
        group = Group(self.rules, self.prefetcher, run, tasks, inputs, executor.node)
        if not group.takes(first):
            return (first,)
        slot = executor.slot if own else None
        found = first, *tasks.queue.take_more(slot, most - 1, group.takes)
        if len(found) > 1 and not tasks.together.is_recorded:
            probe("tiny reducers are computed as one task")
            tasks.together.is_recorded = True
            self.turn.add(
                ReducersGrouped(
                    run.spec.id,
                    inputs.how,
                    inputs.total_bytes,
                    len(tasks.pending) + len(found),
                    len(found),
                    group.bytes,
                    tasks.together.pace_s or 0.0,
                )
            )
        return found

    def _collection_group(
        self, run: StageRun, tasks: TaskSet, first: TaskKey
    ) -> tuple[TaskKey, ...]:
        """Returns the pending tasks of a collection's group (Stark, III-C2).

        A partition that was tried before runs alone: it may be why its group failed.
        """
        if isinstance(first, PieceId) or tasks.was_tried(first):
            return (first,)
        others = [
            task
            for task in run.groups.get(first, ())
            if task != first and tasks.is_pending(task) and not tasks.was_tried(task)
        ]
        if others:
            probe("a group of a collection is computed as one task")
        return tuple(sorted([first, *map(tasks.queue.take_partition, others)]))

    def _most_together(self, run: StageRun, tasks: TaskSet) -> int:
        """Returns the largest size of a group.

        That is half of an executor's share of the pending tasks, so that the rest balances fast and
        slow executors, and no more than the time allows.
        """
        pace_s = tasks.together.pace_s
        if pace_s is None or run.spec.barrier or run.pieces:
            return 1
        waiting = len(tasks.pending) + 1
        share = waiting // (2 * len(self.fleet))
        left_s = pace_s * waiting / len(self.fleet)
        most_s = max(USUAL_S, min(LONGEST_S, LEFT_SHARE * left_s))
        return share if pace_s * share <= most_s else int(most_s / pace_s)

    def _inputs(self, run: StageRun, tasks: TaskSet) -> Inputs | None:
        """Returns the stage's input sizes; None where its reducers must not be grouped."""
        # Kept partitions are reported and placed one by one.
        if not self.rules.tiny_reducers_bytes or not run.spec.shape.rdds.isdisjoint(
            self.storage.persisted
        ):
            return None
        if not tasks.together.weighed:
            tasks.together.weighed = True
            tasks.together.inputs = self._weigh_inputs(run)
        return tasks.together.inputs

    def _weigh_inputs(self, run: StageRun) -> Inputs | None:
        shape = run.spec.shape
        # Input from files, or generated rows, has no known size.
        if not all(step.inputs for step in shape.steps):
            return None
        shuffles = shape.shuffles
        outputs = [self.outputs.of(run.spec.parents[shuffle]) for shuffle in shuffles]
        maps = sum(len(each.refs) for each in outputs)
        forecasts = {} if run.plan is None else run.plan.forecasts
        known = [each for each in shuffles if each in forecasts and forecasts[each].how == "known"]
        if run.plan is not None and len(known) == len(shuffles):
            sizes = {index: each.size_bytes for index, each in run.plan.reducers().items()}
            return Inputs("known", maps, sum(sizes.values()), by_reducer=sizes)
        total = sum(ref.length for each in outputs for ref in each.blocks())
        # A single reducer may read nearly all of it, so all of it must be small.
        if total >= self.rules.small_shuffle_bytes:
            return None
        return Inputs("small", maps, total, total / run.spec.partitions)


class Group:
    """A group while it is filled, up to a limit on its input."""

    def __init__(
        self,
        rules: Rules,
        prefetcher: Prefetcher,
        run: StageRun,
        tasks: TaskSet,
        inputs: Inputs,
        node: NodeId,
    ) -> None:
        self.rules = rules
        self.prefetcher = prefetcher
        self.run = run
        self.tasks = tasks
        self.inputs = inputs
        self.node = node
        self.bytes = 0.0
        self.most_bytes = rules.tiny_reducers_bytes * max(1.0, inputs.maps / USUAL_MAPS)

    def takes(self, task: TaskKey) -> bool:
        """Adds a task if it fits.

        A task with prefetched input does not join, nor one that was tried before: it may be why its
        group failed.
        """
        if isinstance(task, PieceId):
            return False
        size = self.inputs.of(task)
        if (
            size is None
            or self.bytes + size > self.most_bytes
            or self.tasks.was_tried(task)
            or self.prefetcher.prefetched_for(self.run, task, self.node)
        ):
            return False
        self.bytes += size
        return True
