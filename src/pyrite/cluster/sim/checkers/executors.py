"""An executor runs one task at a time, and none after it was lost."""

from __future__ import annotations

from pyrite.cluster.sim.checkers import CheckFailed
from pyrite.ids import AttemptId, ExecutorId, NodeId
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event


class Executors:
    """Tracks the executors and their tasks."""

    def __init__(self) -> None:
        self.nodes: dict[ExecutorId, NodeId] = {}
        self.busy: dict[ExecutorId, AttemptId] = {}
        self.attempts: dict[AttemptId, ExecutorId] = {}
        self.launched = -1

    def see(self, now_s: float, event: Event, commands: list[Command]) -> None:
        match event:
            case ev.ExecutorJoined():
                self.nodes[event.executor] = event.node
            case ev.ExecutorLost():
                self._lose(event.executor)
            case ev.NodeLost() | ev.NodeJoined():
                for executor in [e for e, node in self.nodes.items() if node == event.node]:
                    self._lose(executor)
            case ev.TaskSucceeded() | ev.TaskRaised() | ev.TaskCancelled() | ev.FetchFailed():
                self._free(event.attempt)
        for command in commands:
            if isinstance(command, do.LaunchTask):
                self._launch(command)

    def _lose(self, executor: ExecutorId) -> None:
        self.nodes.pop(executor, None)
        attempt = self.busy.pop(executor, None)
        if attempt is not None:
            del self.attempts[attempt]

    def _free(self, attempt: AttemptId) -> None:
        executor = self.attempts.pop(attempt, None)
        if executor is not None:
            del self.busy[executor]

    def _launch(self, launch: do.LaunchTask) -> None:
        if launch.executor not in self.nodes:
            raise CheckFailed(f"attempt {launch.attempt} goes to {launch.executor}, who is lost")
        if launch.executor in self.busy:
            raise CheckFailed(f"executor {launch.executor} has two tasks at once")
        if launch.attempt <= self.launched:
            raise CheckFailed(f"attempt {launch.attempt} is launched again")
        self.launched = launch.attempt
        self.busy[launch.executor] = launch.attempt
        self.attempts[launch.attempt] = launch.executor
