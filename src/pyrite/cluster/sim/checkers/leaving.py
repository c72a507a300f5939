"""A node that was asked to leave gets no more tasks, and does not go while it runs one."""

from __future__ import annotations

from pyrite.cluster.sim.checkers import CheckFailed
from pyrite.ids import AttemptId, ExecutorId, NodeId
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event
from pyrite.schedule.timer import LeaveBy


class Leaving:
    """Tracks nodes that leave, and what runs on them."""

    def __init__(self) -> None:
        self.nodes: dict[ExecutorId, NodeId] = {}
        self.leaving: set[NodeId] = set()
        self.overdue: set[NodeId] = set()
        self.running: dict[AttemptId, ExecutorId] = {}
        self.lending: set[NodeId] = set()

    def see(self, now_s: float, event: Event, commands: list[Command]) -> None:
        match event:
            case ev.NodeJoined():
                self._forget(event.node)
                if event.lends:
                    self.lending.add(event.node)
            case ev.NodeLost():
                self._forget(event.node)
            case ev.NodeLeaves() if event.node in self.lending:
                self.leaving.add(event.node)
            case ev.TimerFired(LeaveBy(node)):
                self.overdue.add(node)
            case ev.ExecutorJoined():
                self.nodes[event.executor] = event.node
            case ev.ExecutorLost():
                self._lose(event.executor)
            case ev.TaskSucceeded() | ev.TaskRaised() | ev.TaskCancelled() | ev.FetchFailed():
                self.running.pop(event.attempt, None)
        for command in commands:
            match command:
                case do.NodeDismissed():
                    self.leaving.add(command.node)
                case do.LaunchTask():
                    self._launch(command)
                case do.ReleaseNode():
                    self._release(command.node)

    def _forget(self, node: NodeId) -> None:
        self.leaving.discard(node)
        self.overdue.discard(node)
        self.lending.discard(node)
        for executor in [each for each, at in self.nodes.items() if at == node]:
            self._lose(executor)

    def _lose(self, executor: ExecutorId) -> None:
        self.nodes.pop(executor, None)
        self.running = {a: each for a, each in self.running.items() if each != executor}

    def _launch(self, launch: do.LaunchTask) -> None:
        # Whether it is lost is another checker's question.
        node = self.nodes.get(launch.executor)
        if node in self.leaving:
            raise CheckFailed(f"attempt {launch.attempt} goes to {node}, which leaves")
        self.running[launch.attempt] = launch.executor

    def _release(self, node: NodeId) -> None:
        if node not in self.leaving:
            raise CheckFailed(f"{node} is let go, and nobody asked it to leave")
        busy = [a for a, executor in self.running.items() if self.nodes[executor] == node]
        if busy and node not in self.overdue:
            raise CheckFailed(f"{node} is let go while it runs attempt {busy[0]}")
