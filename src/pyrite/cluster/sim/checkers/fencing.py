"""A node that was given up is fenced: its past life has no say, and its executors end."""

from __future__ import annotations

from pyrite.cluster.sim.checkers import CheckFailed
from pyrite.cluster.sim.cluster import SimCluster
from pyrite.cluster.sim.faults import ALONE, BACK_S
from pyrite.ids import AttemptId, ExecutorId, NodeId
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event
from pyrite.schedule.scheduler import Scheduler

# What an agent may take beyond its limit: it looks now and then, or was stopped.
LATE = 1.5
# What follows from an executor's word, if that counts.
CONSEQUENCES = (do.DeliverResult, do.CountAccumulators, do.FinishJob)


class Fencing:
    """Tracks the executors of lost nodes: what they say later, and when they end."""

    def __init__(self, scheduler: Scheduler, cluster: SimCluster) -> None:
        self.scheduler = scheduler
        self.cluster = cluster
        self.nodes: dict[ExecutorId, NodeId] = {}
        self.attempts: dict[AttemptId, ExecutorId] = {}
        # By executor of a node's past life: when it must have ended.
        self.past: dict[ExecutorId, float] = {}

    def see(self, now_s: float, event: Event, commands: list[Command]) -> None:
        match event:
            case ev.ExecutorJoined():
                self.nodes[event.executor] = event.node
            case ev.NodeLost() | ev.NodeJoined():
                self._lose(event.node, now_s)
        speaker = self._speaker(event)
        for command in commands:
            if isinstance(command, do.LaunchTask):
                self.attempts[command.attempt] = command.executor
            if speaker in self.past and isinstance(command, CONSEQUENCES):
                raise CheckFailed(f"{command!r} follows from a word of {speaker}, who is fenced")
            if isinstance(command, do.GrantSpace):
                self._grant(command)
        for executor in self.scheduler.fleet:
            if executor.id in self.past:
                raise CheckFailed(f"executor {executor.id} gets tasks, and its node is fenced")
        self._check_ends(now_s)

    def _speaker(self, event: Event) -> ExecutorId | None:
        """The executor whose word an event is."""
        match event:
            case (
                ev.TaskSucceeded()
                | ev.TaskRaised()
                | ev.TaskCancelled()
                | ev.FetchFailed()
                | ev.BarrierReached()
            ):
                return self.attempts.get(event.attempt)
            case ev.SpaceWanted():
                return event.writer
            case ev.ExecutorJoined():
                return event.executor
        return None

    def _lose(self, node: NodeId, now_s: float) -> None:
        until_s = now_s + LATE * ALONE * self.cluster.world.lost_after_s
        there = [each.id for each in self.cluster.executors.values() if each.node == node]
        joined = [id for id, at in self.nodes.items() if at == node]
        for id in (*there, *joined):
            self.nodes.pop(id, None)
            self.past.setdefault(id, until_s)

    def _grant(self, grant: do.GrantSpace) -> None:
        if grant.writer in self.past and grant.place is not None:
            raise CheckFailed(f"{grant.segment} is granted to {grant.writer}, who is fenced")

    def _check_ends(self, now_s: float) -> None:
        for id, executor in self.cluster.executors.items():
            if id not in self.past:
                continue
            # A stopped node ends its executors when it goes on.
            on_s = executor.place.hung_until_s + LATE * BACK_S
            if now_s > max(self.past[id], on_s):
                raise CheckFailed(f"executor {id} of {executor.node} lives on, and it was given up")
