"""Nodes and executors that join or are lost, and the recovery of what was lost."""

from __future__ import annotations

from pyrite.ids import NodeId, partition_of
from pyrite.probe import probe
from pyrite.schedule import events as ev
from pyrite.schedule import reports
from pyrite.schedule.attempts import Attempt, Attempts
from pyrite.schedule.collections import Collections
from pyrite.schedule.commands import ClearExecutor, StartExecutor
from pyrite.schedule.divider import Divider
from pyrite.schedule.fleet import Executor, Fleet
from pyrite.schedule.health import Health
from pyrite.schedule.jobs import Jobs
from pyrite.schedule.outcomes import Outcomes
from pyrite.schedule.outputs import Outputs
from pyrite.schedule.prefetch.planner import ReducePlanner
from pyrite.schedule.prefetch.plans import Plans
from pyrite.schedule.prefetch.prefetcher import Prefetcher
from pyrite.schedule.replication import Replication
from pyrite.schedule.room import Room
from pyrite.schedule.rules import Rules
from pyrite.schedule.stages import StageRun, Stages
from pyrite.schedule.starts import Starts
from pyrite.schedule.storage import Storage
from pyrite.schedule.turn import Turn


class Recovery:
    """Registers nodes and executors, and redoes what a lost one was running or held, no more."""

    def __init__(
        self,
        turn: Turn,
        rules: Rules,
        fleet: Fleet,
        starts: Starts,
        health: Health,
        stages: Stages,
        outputs: Outputs,
        storage: Storage,
        collections: Collections,
        room: Room,
        attempts: Attempts,
        plans: Plans,
        planner: ReducePlanner,
        prefetcher: Prefetcher,
        replication: Replication,
        divider: Divider,
        jobs: Jobs,
        outcomes: Outcomes,
    ) -> None:
        self.turn = turn
        self.rules = rules
        self.fleet = fleet
        self.starts = starts
        self.health = health
        self.stages = stages
        self.outputs = outputs
        self.storage = storage
        self.ledger = storage.ledger
        self.collections = collections
        self.room = room
        self.attempts = attempts
        self.plans = plans
        self.planner = planner
        self.prefetcher = prefetcher
        self.replication = replication
        self.divider = divider
        self.jobs = jobs
        self.outcomes = outcomes

    # Nodes

    def on_node_joined(self, event: ev.NodeJoined) -> None:
        # It may have restarted before its loss was noticed.
        if event.node in self.ledger.pools:
            probe("a node is back before its loss was noticed")
        self._lose_node(event.node, "the node started anew")
        self.fleet.plan(event.node, event.executors)
        self.ledger.join(event.node, event.pool_bytes, event.lends, event.storage_only)
        for outputs in self.outputs:
            # It may be the first node that can hold replicas.
            self.replication.renew(outputs)

    def on_node_lost(self, event: ev.NodeLost) -> None:
        self._lose_node(event.node, event.reason)

    def on_withdrawn(self, event: ev.NodeWithdrawn) -> None:
        """A lost node will not be back: who waits for its executors waits in vain."""
        if event.node not in self.ledger.pools:
            self.fleet.withdraw(event.node)
            self.jobs.judge_barriers()

    def _lose_node(self, node: NodeId, reason: str) -> None:
        if node not in self.ledger.pools:
            return
        self.room.lose_node(node)
        self.prefetcher.lose_node(node)
        self.replication.lose_node(node)
        self.storage.inputs.forget_node(node)
        self.storage.drop(self.ledger.lose(node))
        for partition, refs in self.storage.kept.forget_node(node):
            # Of partitions that continue on other nodes.
            self.storage.release(refs, partition.rdd)
        for outputs in self.outputs:
            self.storage.release(outputs.lose_node(node))
            self.prefetcher.spoil(outputs, outputs.missing())
            self.replication.renew(outputs)
        self.starts.forget_node(node)
        for executor in self.fleet.on(node):
            self._forget_executor(executor)
            # Segments that it wrote into other pools and did not report.
            self.storage.drop(self.ledger.seal(executor.id))
            if executor.attempt is not None:
                self.lose_attempt(executor.attempt, reason, blamed=False)
        for run in list(self.stages):
            self._redo_lost(run, node)
        for run in self.plans:
            self.planner.place_orphans(run)
        self.jobs.judge_barriers()

    def _redo_lost(self, run: StageRun, node: NodeId) -> None:
        """Recomputes a stage's lost inputs and outputs."""
        # It may have failed meanwhile.
        if run not in self.stages:
            return
        if run.tasks is not None:
            self.divider.lose_node(run, run.tasks, node)
        made = [ref for event in run.together.values() for ref in event.blocks()]
        if run.tasks is not None and any(ref.node == node for ref in made):
            probe("a node goes with what some tasks of a barrier made")
            self.outcomes.restart_barrier(run, run.tasks)
        if run not in self.stages:
            return
        if self.jobs.redo_inputs(run):
            probe("a stage's inputs go with a node")
        elif run.tasks is not None and not run.tasks.paused:
            probe("a stage goes on after a node was lost")
            self.jobs.start(run)

    # Executors

    def on_joined(self, event: ev.ExecutorJoined) -> None:
        pool = self.ledger.pools.get(event.node)
        if pool is not None and not pool.leaves:
            self.fleet.join(event.executor, event.node)

    def on_lost(self, event: ev.ExecutorLost) -> None:
        executor = self.fleet.get(event.executor)
        if executor is None:
            return
        self._forget_executor(executor)
        self.storage.drop(self.ledger.seal(executor.id))
        # It may have been killed while it wrote a segment that was never reported.
        known = self.ledger.written_by(executor.node, executor.id)
        self.turn.add(ClearExecutor(executor.id, executor.node, known))
        if executor.attempt is not None:
            self.lose_attempt(executor.attempt, event.reason)
        elif executor.ran == 0:
            self.starts.failed()
        self._replace(StartExecutor(executor.id, executor.node), event.reason)

    def retire(self, executor: Executor) -> None:
        """Forgets a free executor, which gets no more tasks."""
        self._forget_executor(executor)
        self.storage.drop(self.ledger.seal(executor.id))

    def on_start_failed(self, event: ev.StartFailed) -> None:
        pool = self.ledger.pools.get(event.node)
        if pool is not None and not pool.leaves:
            self.starts.failed()
            self._replace(StartExecutor(event.executor, event.node), event.reason)

    def _replace(self, start: StartExecutor, reason: str) -> None:
        if self.ledger.pools[start.node].leaves:
            return
        if not self.starts.replace(start):
            probe("executors don't start")
            self.jobs.fail_all(reports.cannot_start(reason))

    def _forget_executor(self, executor: Executor) -> None:
        self.fleet.remove(executor)
        self.room.forget_writer(executor.id)
        self.storage.kept.forget_executor(executor.id)
        self.collections.forget_executor(executor.id)
        self.health.forget_executor(executor.id)
        for run in self.stages:
            if run.tasks is not None:
                run.tasks.queue.forget_executor(executor.id)

    def lose_attempt(self, attempt: Attempt, reason: str, blamed: bool = True) -> None:
        """Ends an attempt whose executor is lost; `blamed` counts it as the cause."""
        self.attempts.remove(attempt.id)
        self.storage.end_reading(attempt.segments())
        tasks = attempt.tasks
        if tasks is None:
            return
        tasks.finish(attempt)
        run = self.stages.of(tasks)
        if run is None:
            return
        if not self.divider.is_whole(run, attempt):
            # Retry each partition alone and undivided: the culprit ends an executor again.
            probe("an executor dies with a task of several tiny reducers, or of a piece of one")
            self.outcomes.retry(run, tasks, attempt)
            return
        partition = partition_of(attempt.keys[0])
        deaths = tasks.deaths.get(partition, 0) + blamed
        tasks.deaths[partition] = deaths
        if deaths >= self.rules.max_deaths:
            probe("a partition ends too many executors")
            report = reports.executor_died(run.spec, partition, attempt.executor, deaths, reason)
            self.jobs.fail(run, report)
        else:
            self.outcomes.retry(run, tasks, attempt)
