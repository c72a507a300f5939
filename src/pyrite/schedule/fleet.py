"""Nodes and executors that come and go."""

from __future__ import annotations

from heapq import heappop, heappush

from pyrite.ids import (
    NodeId,
    StageId,
)
from pyrite.rare import rare
from pyrite.schedule import events as ev
from pyrite.schedule import reports
from pyrite.schedule.commands import (
    ClearExecutor,
    StartExecutor,
)
from pyrite.schedule.outcomes import Outcomes
from pyrite.schedule.runs import StageRun
from pyrite.schedule.state import Executor
from pyrite.schedule.taskset import Attempt

# An executor that ends before it ran a task this often in a row will not start at all.
FAILED_STARTS = 8


class Fleet(Outcomes):
    """Keeps count of nodes and executors, and redoes what a lost one was doing or held."""

    def _on_node_joined(self, event: ev.NodeJoined) -> None:
        # It may have gone and come back before anyone noticed.
        if event.node in self.ledger.pools:
            rare("a node is back before its loss was noticed")
        self._lose_node(event.node, "the node started anew")
        self.ledger.join(event.node, event.pool_bytes, event.lends, event.storage_only)
        for outputs in self.outputs.shuffles.values():
            # There may have been no other node to have copies.
            self._renew_backups(outputs)

    def _on_node_lost(self, event: ev.NodeLost) -> None:
        self._lose_node(event.node, event.reason)

    def _lose_node(self, node: NodeId, reason: str) -> None:
        if node not in self.ledger.pools:
            return
        self.leaving.pop(node, None)
        self._lose_parcels(node)
        self._lose_backups(node)
        self._drop(self.ledger.lose(node))
        self.kept.forget_node(node)
        for outputs in self.outputs.shuffles.values():
            self._release(outputs.lose_node(node))
            self._spoil_parcels(outputs, outputs.missing())
            self._renew_backups(outputs)
        self.not_started = [each for each in self.not_started if each.node != node]
        for executor in [each for each in self.executors.values() if each.node == node]:
            self._forget_executor(executor)
            # What it laid into other pools, and did not tell of.
            self._drop(self.ledger.seal(f"e{executor.id}"))
            if executor.attempt is not None:
                self._lose_attempt(executor.attempt, reason, blamed=False)
        for run in list(self.runs.values()):
            self._redo_lost(run, node)
        for run in list(self.parcels.planned.values()):
            self._place_orphans(run)

    def _redo_lost(self, run: StageRun, node: NodeId) -> None:
        """Has lost inputs of the stage made again, and its own lost outputs."""
        # A failure may have ended it.
        if run.spec.id not in self.runs:
            return
        if run.tasks is not None:
            self._lose_pieces(run, run.tasks, node)
        made = [ref for event in run.together.values() for ref in event.blocks()]
        if run.tasks is not None and any(ref.node == node for ref in made):
            rare("a node goes with what some tasks of a barrier made")
            self._restart_barrier(run, run.tasks)
        if run.spec.id not in self.runs:
            return
        if self._redo_inputs(run):
            rare("a stage's inputs go with a node")
        elif run.tasks is not None and not run.tasks.paused:
            rare("a stage goes on after a node was lost")
            self._start_tasks(run)

    def _on_joined(self, event: ev.ExecutorJoined) -> None:
        if event.node not in self.ledger.pools:
            return
        if self.empty_slots:
            slot = heappop(self.empty_slots)
            self.slots[slot] = event.executor
        else:
            slot = len(self.slots)
            self.slots.append(event.executor)
        executor = Executor(event.executor, event.node, slot)
        self.executors[event.executor] = executor
        self.executors_on[event.node] = self.executors_on.get(event.node, 0) + 1
        self._set_free(executor)

    def _on_lost(self, event: ev.ExecutorLost) -> None:
        executor = self.executors.get(event.executor)
        if executor is None:
            return
        self._forget_executor(executor)
        writer = f"e{executor.id}"
        self._drop(self.ledger.seal(writer))
        # It may have been killed while it wrote what nobody will ask for.
        known = self.ledger.written_by(executor.node, writer)
        self.commands.append(ClearExecutor(executor.id, executor.node, known))
        if executor.attempt is not None:
            self._lose_attempt(executor.attempt, event.reason)
        elif executor.ran == 0:
            self.failed_starts += 1
        self._replace(StartExecutor(executor.id, executor.node), event.reason)

    def _on_start_failed(self, event: ev.StartFailed) -> None:
        if event.node in self.ledger.pools:
            self.failed_starts += 1
            self._replace(StartExecutor(event.executor, event.node), event.reason)

    def _replace(self, start: StartExecutor, reason: str) -> None:
        if self.failed_starts < FAILED_STARTS:
            self.commands.append(start)
            return
        rare("executors don't start")
        # The next job asks for them again.
        self.not_started.append(start)
        for job in list(self.jobs.values()):
            self._end_job(job, reports.cannot_start(reason))

    def _forget_executor(self, executor: Executor) -> None:
        del self.executors[executor.id]
        self.executors_on[executor.node] -= 1
        if not self.executors_on[executor.node]:
            del self.executors_on[executor.node]
        self._forget_waiting(f"e{executor.id}")
        self.slots[executor.slot] = None
        heappush(self.empty_slots, executor.slot)
        self.free.pop(executor.id, None)
        self.kept.forget_executor(executor.id)
        self.health.forget_executor(executor.id)
        for run in self.runs.values():
            if run.tasks is not None:
                run.tasks.forget_executor(executor.id)

    def _lose_attempt(self, attempt: Attempt, reason: str, blamed: bool = True) -> None:
        del self.attempts[attempt.id]
        self._end_reading(attempt)
        self._shed_installments(attempt)
        tasks = attempt.tasks
        if tasks is None:
            return
        tasks.finish(attempt)
        run = self.runs.get(StageId(tasks.stage))
        if run is None:
            return
        if attempt.also or self._is_divided(run, attempt):
            # Each is tried alone now, and as a whole: who is to blame ends an executor again.
            rare("an executor dies with a task of several tiny reducers, or of a piece of one")
            self._retry(run, tasks, attempt)
            return
        deaths = tasks.deaths.get(attempt.partition, 0) + blamed
        tasks.deaths[attempt.partition] = deaths
        if deaths >= self.rules.max_deaths:
            rare("a partition ends too many executors")
            report = reports.executor_died(
                run.spec, attempt.partition, attempt.executor, deaths, reason
            )
            self._fail_stage(run, report)
        else:
            self._retry(run, tasks, attempt)
