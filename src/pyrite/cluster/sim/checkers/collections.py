"""Collections: partitioners never change, groups cover each partition once, the last copy stays,
and recoveries stay within their bound."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from pyrite.cluster.sim.checkers import CheckFailed
from pyrite.ids import AttemptId, ExecutorId, NamespaceId, NodeId, Partition, RddId, StageId
from pyrite.plan.recoveries import LineageGraph
from pyrite.plan.stages import StageSpec, new_stages
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event
from pyrite.schedule.recoverybound import Step

if TYPE_CHECKING:
    from pyrite.schedule.scheduler import Scheduler

SLACK_S = 1e-6


class CollectionChecks:
    """Tracks namespaces, groups and live rows from the story alone."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.sizes: dict[NamespaceId, int] = {}
        # The digest of each namespace's partitioner, and the namespaces that have not been dropped.
        self.partitioners: dict[NamespaceId, str] = {}
        self.names: dict[NamespaceId, str] = {}
        self.groups: dict[str, set[tuple[int, ...]]] = {}
        self.stages: dict[StageId, StageSpec] = {}
        self.launches: dict[AttemptId, do.LaunchTask] = {}
        self.nodes: dict[ExecutorId, NodeId] = {}
        # Who holds the live rows of each partition.
        self.holders: dict[Partition, set[ExecutorId]] = {}
        self.written: set[RddId] = set()

    def see(self, now_s: float, event: Event, commands: list[Command]) -> None:
        match event:
            case ev.NamespaceMade():
                self._make(event)
            case ev.NamespaceDropped():
                del self.names[event.namespace]
            case ev.RddPersisted() if event.namespace is not None and event.partitioner:
                self._check_partitioner(event.namespace, event)
            case ev.JobSubmitted():
                for stage in new_stages(event.job.stage, self.stages):
                    self.stages[stage.id] = stage
                    self._check_stage(stage)
            case ev.TaskSucceeded() | ev.TaskRaised() | ev.TaskCancelled() | ev.FetchFailed():
                self._learn(event.attempt, event.kept)
            case ev.ExecutorJoined():
                self.nodes[event.executor] = event.node
            case ev.ExecutorLost():
                self._lose({event.executor})
            case ev.NodeLost() | ev.NodeJoined():
                self._lose({each for each, node in self.nodes.items() if node == event.node})
            case ev.CheckpointEnded(is_written=True):
                self.written.add(event.rdd)
            case ev.RddForgotten():
                for partition in [each for each in self.holders if each.rdd == event.rdd]:
                    del self.holders[partition]
        # A node that is dismissed in the same turn may have held the other copy.
        goes = any(isinstance(each, do.NodeDismissed) for each in commands)
        for command in commands:
            match command:
                case do.LaunchTask():
                    self.launches[command.attempt] = command
                    self._check_launch(command)
                case do.GroupsResized():
                    self._resize(command)
                case do.DropRows():
                    self._drop_rows(command)
                case do.ReplicaDropped() if not goes:
                    self._check_copies(command)
                case do.FinishJob(error=None):
                    self._check_bound()

    # Partitioners and groups

    def _make(self, event: ev.NamespaceMade) -> None:
        if event.namespace in self.sizes:
            raise CheckFailed(f"namespace {event.namespace} is made twice")
        if event.name in self.names.values():
            raise CheckFailed(f"a second namespace is called {event.name!r}")
        self.names[event.namespace] = event.name
        self.partitioners[event.namespace] = event.partitioner
        self.sizes[event.namespace] = event.partitions
        count, groups = event.partitions, event.groups
        bounds = [count * each // groups for each in range(groups + 1)]
        self.groups[event.name] = set(pairwise(bounds))

    def _check_partitioner(self, namespace: NamespaceId, event: ev.RddPersisted) -> None:
        known = self.partitioners[namespace]
        if event.partitioner != known:
            raise CheckFailed(
                f"RDD {event.rdd} of namespace {namespace} is partitioned by {event.partitioner}, "
                f"not by {known}"
            )

    def _check_stage(self, stage: StageSpec) -> None:
        if stage.namespace is not None and self.sizes.get(stage.namespace) != stage.partitions:
            raise CheckFailed(
                f"{stage} has another number of partitions than namespace {stage.namespace}"
            )

    def _check_launch(self, launch: do.LaunchTask) -> None:
        partitions = launch.partitions
        if len(set(partitions)) < len(partitions):
            raise CheckFailed(f"attempt {launch.attempt} computes a partition twice: {partitions}")

    def _resize(self, change: do.GroupsResized) -> None:
        groups = self.groups[change.collection]
        if not groups.issuperset(change.before):
            raise CheckFailed(f"{change.collection} has no groups {change.before}: {groups}")
        groups.difference_update(change.before)
        groups.update(change.after)
        covered = sorted(index for first, end in groups for index in range(first, end))
        if covered != list(range(len(covered))) or len(covered) not in self.sizes.values():
            raise CheckFailed(f"groups of {change.collection} cover {covered}: {change}")

    # Copies

    def _learn(self, attempt: AttemptId, news: ev.KeptNews) -> None:
        launch = self.launches.pop(attempt, None)
        if launch is None or launch.executor not in self.scheduler.fleet:
            return
        for partition in news.dropped:
            self.holders.get(partition, set()).discard(launch.executor)
        for stored in news.stored:
            if not stored.blocks:
                self.holders.setdefault(stored.partition, set()).add(launch.executor)

    def _lose(self, executors: set[ExecutorId]) -> None:
        for holders in self.holders.values():
            holders -= executors

    def _drop_rows(self, command: do.DropRows) -> None:
        holders = self.holders.get(command.partition, set())
        holders.discard(command.executor)
        if not holders:
            raise CheckFailed(f"the last copy of {command.partition} is dropped as a replica")

    def _check_copies(self, command: do.ReplicaDropped) -> None:
        if command.copies < 1 or not self.scheduler.storage.kept.is_there(command.partition):
            raise CheckFailed(f"the last copy of {command.partition} is dropped as a replica")

    # Recovery

    def _check_bound(self) -> None:
        """No kept RDD takes longer to recover than the bound, unless checkpoints are under way."""
        bound_s = self.scheduler.rules.recovery_bound_s
        if not bound_s or self.scheduler.bound.is_writing:
            return
        unwritten = self.scheduler.bound.written() - self.written
        if unwritten:
            raise CheckFailed(f"RDDs {sorted(unwritten)} count as written, and are not")
        lineage = self.scheduler.bound.lineage()
        for step, cost in lineage.costs.items():
            length_s = recomputed_s(lineage, step)
            if cost.bytes is not None and length_s > bound_s + SLACK_S:
                raise CheckFailed(
                    f"{step} takes {length_s} s to recover, above the bound of {bound_s} s"
                )


def recomputed_s(lineage: LineageGraph[Step], step: Step) -> float:
    """Computes a step as tasks do, one after the other: the stages of map outputs first, those that
    don't need each other side by side if there are executors for all."""
    tasks_s: dict[Step, float] = {}
    ends_s: dict[Step, float] = {}

    def run_stage(last: Step) -> float:
        if last not in ends_s:
            done: set[Step] = set()
            reads: set[Step] = set()
            tasks_s[last] = compute(last, done, reads)
            ends_s[last] = tasks_s[last] + max(map(run_stage, reads), default=0.0)
        return ends_s[last]

    def compute(each: Step, done: set[Step], reads: set[Step]) -> float:
        taken_s = lineage.costs[each].delay_s
        for parent in lineage.parents[each]:
            if parent in lineage.maps:
                reads.add(parent)
            elif parent not in done:
                if parent in lineage.kept:
                    done.add(parent)
                taken_s += compute(parent, done, reads)
        return taken_s

    end_s = run_stage(step)
    lost = sum(lineage.maps[each] for each in tasks_s if each != step)
    return sum(tasks_s.values()) if lost > lineage.executors else end_s
