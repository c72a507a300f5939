"""Executors come while tasks wait, in doubling steps, and go when they are idle, within bounds."""

from __future__ import annotations

from math import ceil, inf
from typing import TYPE_CHECKING

from pyrite.cluster.sim.checkers import CheckFailed
from pyrite.ids import AttemptId, ExecutorId, NodeId
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event

if TYPE_CHECKING:
    from pyrite.schedule.scheduler import Scheduler

SLACK_S = 1e-6


class Allocated:
    """Follows nodes, tasks and orders from the story; what waits and what is kept, from the
    scheduler's state. Says nothing where nodes come by themselves."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        # The executors of each node that does not leave for good, and the nodes that are there.
        self.sizes: dict[NodeId, int] = {}
        self.there: set[NodeId] = set()
        self.places: dict[ExecutorId, NodeId] = {}
        self.running: dict[AttemptId, NodeId] = {}
        # When a task ended there, or the first executor came; who holds kept partitions, and who
        # did so since then.
        self.stirred_s: dict[NodeId, float] = {}
        self.holds: set[NodeId] = set()
        self.held: set[NodeId] = set()
        self.wanted = 0
        self.has_begun = False
        # Since when tasks wait, and since when too few executors are wanted for them.
        self.waits_s: float | None = None
        self.lacks_s: float | None = None
        self.step = 1

    def see(self, now_s: float, event: Event, commands: list[Command]) -> None:
        if self.scheduler.rules.allocation is None:
            return
        self._follow(now_s, event)
        for command in commands:
            match command:
                case do.LaunchTask():
                    node = self.places[command.executor]
                    self.running[command.attempt] = node
                    self.held.discard(node)
                case do.WantExecutors():
                    self._want(now_s, command.executors)
                case do.NodeDismissed():
                    self._dismiss(now_s, event, command.node)
        self._look(now_s)

    def _follow(self, now_s: float, event: Event) -> None:
        match event:
            case ev.NodeJoined() if event.executors:
                self._lose_executors(event.node)
                self.sizes[event.node] = event.executors
                self.there.add(event.node)
            case ev.NodeLost():
                self._lose_executors(event.node)
                self.there.discard(event.node)
            case ev.NodeLeaves() if event.node in self.there:
                self.sizes.pop(event.node, None)
            case ev.NodeWithdrawn() if event.node not in self.there:
                self.sizes.pop(event.node, None)
            case ev.ExecutorJoined():
                self.places[event.executor] = event.node
                self.stirred_s.setdefault(event.node, now_s)
            case ev.ExecutorLost() if event.executor in self.places:
                self._lose_executor(now_s, event.executor)
            case ev.TaskSucceeded() | ev.TaskRaised() | ev.TaskCancelled() | ev.FetchFailed():
                ended = self.running.pop(event.attempt, None)
                if ended is not None:
                    self.stirred_s[ended] = now_s
        known = self.scheduler.attempts
        self.running = {a: node for a, node in self.running.items() if known.get(a) is not None}

    def _lose_executor(self, now_s: float, executor: ExecutorId) -> None:
        node = self.places.pop(executor)
        if node in self.running.values():
            self.stirred_s[node] = now_s
        if node not in self.places.values():
            self.stirred_s.pop(node, None)

    def _lose_executors(self, node: NodeId) -> None:
        self.places = {each: at for each, at in self.places.items() if at != node}
        self.running = {a: at for a, at in self.running.items() if at != node}
        self.stirred_s.pop(node, None)

    # More

    def _want(self, now_s: float, executors: int) -> None:
        rule = self.scheduler.rules.allocation
        assert rule is not None
        if not rule.least <= executors <= rule.most:
            raise CheckFailed(f"{executors} executors are wanted")
        is_start = not self.has_begun and executors <= max(rule.least, rule.initial)
        self.has_begun = True
        if executors > self.wanted and not is_start and not self.scheduler.room.short_bytes:
            if self.waits_s is None or now_s - self.waits_s < rule.backlog_s - SLACK_S:
                raise CheckFailed(f"{executors} executors are wanted too early")
            there = max(self.wanted, sum(self.sizes.values()))
            if executors > there + self.step:
                raise CheckFailed(f"{executors} executors are wanted, and there are {there}")
            self.step *= 2
        if executors > self.wanted:
            self.lacks_s = None
        self.wanted = executors

    def _look(self, now_s: float) -> None:
        """Looks at what waits, and who is idle, once the event was handled."""
        rule = self.scheduler.rules.allocation
        assert rule is not None
        if sum(self.sizes.values()) > rule.most:
            raise CheckFailed(f"there are more executors than {rule.most}: {self.sizes}")
        waiting = self._waiting()
        if not waiting:
            self.waits_s, self.step = None, 1
        elif self.waits_s is None:
            self.waits_s = now_s
        needed = min(ceil((waiting + len(self.running)) * rule.ratio), rule.most)
        if not waiting or self.wanted >= needed:
            self.lacks_s = None
        elif self.lacks_s is None:
            self.lacks_s = now_s
        elif now_s - self.lacks_s > max(rule.backlog_s, rule.sustained_s) + SLACK_S:
            raise CheckFailed(f"{waiting} tasks wait, and only {self.wanted} executors are wanted")
        self._look_at_idle(now_s)

    def _waiting(self) -> int:
        found = [run.tasks for run in self.scheduler.stages]
        sets = [each for each in found if each is not None and not each.paused]
        # A copy of a slow task needs an executor too.
        return sum(len(each.pending) + len(each.slow) for each in sets)

    # Fewer

    @property
    def spare(self) -> int:
        rule = self.scheduler.rules.allocation
        assert rule is not None
        return sum(self.sizes.values()) - max(rule.least, self.wanted)

    def _dismiss(self, now_s: float, event: Event, node: NodeId) -> None:
        rule = self.scheduler.rules.allocation
        assert rule is not None
        if node in self.running.values():
            raise CheckFailed(f"{node} is dismissed while it runs a task")
        if self.sizes[node] > self.spare:
            raise CheckFailed(f"{node} is dismissed, and too few executors are left")
        # Whatever else happens may take the last kept partition from a node.
        is_held = node in self.holds and isinstance(event, ev.TimerFired)
        for_s = rule.cached_idle_s if is_held else rule.idle_s
        if now_s - self.stirred_s.get(node, -inf) < for_s - SLACK_S:
            raise CheckFailed(f"{node} is dismissed before it was idle for {for_s} s")
        del self.sizes[node]

    def _look_at_idle(self, now_s: float) -> None:
        rule = self.scheduler.rules.allocation
        assert rule is not None
        kept = self.scheduler.storage.kept
        self.holds = {ref.node for _, ref in kept.all_blocks()}
        self.holds |= {node for each, node in self.places.items() if kept.holds_live(each)}
        self.held |= self.holds
        for node, size in self.sizes.items():
            idle_s = now_s - self.stirred_s.get(node, now_s)
            is_last = size == sum(self.sizes.values())
            if (
                node not in self.running.values()
                and node not in self.held
                and size <= self.spare
                and idle_s > rule.idle_s + SLACK_S
                and node in self.places.values()
                and not is_last
            ):
                raise CheckFailed(f"{node} is idle for {idle_s} s, and stays")
