"""The scheduler: told an event and the time, it answers with commands. Pure."""

from __future__ import annotations

from typing import assert_never

from pyrite.ids import (
    AttemptId,
    StageId,
)
from pyrite.rare import rare
from pyrite.schedule import events as ev
from pyrite.schedule.commands import (
    Command,
    KillExecutor,
)
from pyrite.schedule.events import Event
from pyrite.schedule.fleet import Fleet
from pyrite.schedule.invariants import check


class Scheduler(Fleet):
    """Which stage, which task, which executor, what to redo."""

    def handle(self, event: Event, now_s: float) -> list[Command]:
        """Takes in what happened; gives what should happen."""
        self.now_s = now_s
        self.commands = []
        self._dispatch(event)
        if self.waiting:
            self._serve_waiting()
        if self.leaving:
            self._clear_leaving()
        self._launch()
        if self.parcels.planned:
            self._fetch_ahead()
        if self.to_copy:
            self._order_backups()
        return self.commands

    def _dispatch(self, event: Event) -> None:
        match event:
            case ev.TaskSucceeded():
                self._on_succeeded(event)
            case ev.JobSubmitted():
                self._on_submitted(event)
            case ev.TaskFailed():
                self._on_failed(event)
            case ev.TaskCancelled():
                self._on_cancelled(event)
            case ev.OutputGrew():
                self._on_grew(event)
            case ev.FetchFailed():
                self._on_fetch_failed(event)
            case ev.CancelRequested():
                self._on_cancel_requested(event)
            case ev.PartsFetched() | ev.PartsNotFetched() if event.fetch in self.backups:
                self._end_backup(event.fetch, isinstance(event, ev.PartsFetched))
            case ev.PartsFetched():
                self._on_fetched(event)
            case ev.PartsNotFetched():
                self._on_not_fetched(event)
            case (
                ev.SpaceWanted()
                | ev.SegmentMoved()
                | ev.SegmentNotMoved()
                | ev.NodeLeaves()
                | ev.MemoryAsked()
                | ev.BlockPut()
                | ev.BlocksReleased()
                | ev.BlockLost()
                | ev.ShuffleForgotten()
                | ev.RddPersisted()
                | ev.RddForgotten()
                | ev.BroadcastForgotten()
            ):
                self._on_block_event(event)
            case ev.NodeJoined():
                self._on_node_joined(event)
            case ev.NodeLost():
                self._on_node_lost(event)
            case ev.ExecutorJoined():
                self._on_joined(event)
            case ev.StartFailed():
                self._on_start_failed(event)
            case ev.ExecutorLost():
                self._on_lost(event)
            case ev.BarrierReached():
                self._on_barrier_reached(event)
            case ev.TimerFired():
                self._on_timer(event.name)
            case _:
                assert_never(event)

    def _on_timer(self, name: str) -> None:
        if name.startswith("cancel "):
            attempt = self.attempts.get(AttemptId(int(name.split()[1])))
            if attempt is not None:
                rare("a cancelled task does not react")
                self.commands.append(
                    KillExecutor(attempt.executor, "its task did not react to cancellation")
                )
        elif name.startswith("locality "):
            # It may have been set for an earlier run of the stage: then another is needed.
            run = self.runs.get(StageId(int(name.split()[1])))
            if run is not None and run.tasks is not None:
                run.tasks.wakes_at_s = self.now_s
        elif name == "speculation":
            self._look_for_slow()

    def _look_for_slow(self) -> None:
        self.looks_for_slow = bool(self.jobs)
        if not self.jobs or self.rules.speculation is None:
            return
        for run in self.runs.values():
            if run.tasks is None or run.spec.barrier:
                continue
            if run.tasks.find_slow(self.rules.speculation, self.now_s):
                self.turns.add(run)
        self._set_timer("speculation", self.rules.speculation_interval_s)

    def check(self) -> None:
        """Raises AssertionError where the state contradicts itself."""
        check(self)
