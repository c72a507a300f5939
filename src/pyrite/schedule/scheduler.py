"""The scheduler: takes an event and the time, returns commands. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, assert_never

from pyrite.place.policy import Policy
from pyrite.schedule import events as ev
from pyrite.schedule.allocation import Allocation
from pyrite.schedule.attempts import Attempts
from pyrite.schedule.collections import Collections
from pyrite.schedule.commands import Command, DropBroadcast
from pyrite.schedule.departures import Departures
from pyrite.schedule.divider import Divider
from pyrite.schedule.events import Event
from pyrite.schedule.fetches import Fetches
from pyrite.schedule.fleet import Fleet
from pyrite.schedule.grouping import Grouping
from pyrite.schedule.health import Health
from pyrite.schedule.invariants import check
from pyrite.schedule.jobs import Jobs
from pyrite.schedule.keyranges import KeyRanges
from pyrite.schedule.launcher import Launcher
from pyrite.schedule.locality import Locality, default_policies
from pyrite.schedule.outcomes import Outcomes
from pyrite.schedule.outputs import Outputs
from pyrite.schedule.prefetch.admission import Admission
from pyrite.schedule.prefetch.diskpace import DiskPace
from pyrite.schedule.prefetch.eviction import PrefetchEviction
from pyrite.schedule.prefetch.flush import OutputFlush
from pyrite.schedule.prefetch.forecasts import Forecasts
from pyrite.schedule.prefetch.planner import ReducePlanner
from pyrite.schedule.prefetch.plans import Plans
from pyrite.schedule.prefetch.prefetcher import Prefetcher
from pyrite.schedule.prefetch.prefetchroom import PrefetchRoom
from pyrite.schedule.prefetch.segments import PrefetchedSegments
from pyrite.schedule.queue import StageQueue
from pyrite.schedule.recovery import Recovery
from pyrite.schedule.recoverybound import RecoveryBound
from pyrite.schedule.replicas import Replicas
from pyrite.schedule.replication import Replication
from pyrite.schedule.room import Room
from pyrite.schedule.rules import Rules
from pyrite.schedule.speculation import Speculation
from pyrite.schedule.stages import StageRun, Stages
from pyrite.schedule.starts import Starts
from pyrite.schedule.storage import Storage
from pyrite.schedule.timer import (
    AllocationCheck,
    CancelGrace,
    LeaveBy,
    LocalityWait,
    ReplicaCheck,
    SpeculationCheck,
)
from pyrite.schedule.turn import Turn
from pyrite.schedule.view import ClusterView


class Scheduler:
    """Composes the parts that decide which stage, which task, which executor, and what to redo.

    ARCHITECTURE.md has a drawing of them.
    """

    def __init__(self, rules: Rules, policies: Sequence[Policy] | None = None) -> None:
        self.rules = rules
        self.turn = turn = Turn()
        # State.
        self.fleet = Fleet()
        self.starts = Starts(turn)
        self.health = Health(rules.exclusion)
        self.storage = Storage(turn)
        self.ranges = KeyRanges(rules.laf, self.fleet, self.storage.inputs)
        self.outputs = Outputs(turn, self.storage)
        self.stages = Stages(self.outputs)
        self.collections = Collections(turn, rules, self.fleet, self.storage)
        self.replicas = Replicas(turn, rules, self.fleet, self.storage, self.collections)
        self.bound = RecoveryBound(
            turn, rules, self.fleet, self.storage, self.outputs, self.collections
        )
        self.queue: StageQueue[StageRun] = StageQueue(rules.fair, rules.shares)
        self.attempts = Attempts(turn, rules)
        self.speculation = Speculation(turn, rules, self.stages, self.queue)
        # Replication and prefetching.
        self.fetches = Fetches(turn, self.storage.ledger)
        self.replication = Replication(rules, self.outputs, self.storage, self.fetches)
        self.plans = Plans(rules.fair)
        self.segments = PrefetchedSegments()
        self.eviction = PrefetchEviction(self.storage, self.plans, self.segments)
        disks = DiskPace()
        self.prefetch_room = PrefetchRoom(
            self.fleet, self.stages, self.storage, self.outputs, self.plans, disks
        )
        self.flush = OutputFlush(
            turn,
            rules,
            self.storage,
            self.outputs,
            self.plans,
            self.segments,
            self.prefetch_room,
            disks,
        )
        self.admission = Admission(self.storage, self.plans, self.prefetch_room, self.flush)
        self.forecasts = Forecasts(self.outputs, self.storage.kept, self.stages, self.fleet)
        self.prefetcher = Prefetcher(
            turn,
            rules,
            self.stages,
            self.outputs,
            self.storage,
            self.fetches,
            self.plans,
            self.segments,
            self.eviction,
            self.admission,
            self.prefetch_room,
            self.flush,
        )
        self.room = Room(
            turn,
            rules,
            self.fleet,
            self.stages,
            self.storage,
            self.ranges,
            self.replicas,
            self.eviction,
            self.flush,
        )
        # Placement.
        view = ClusterView(
            self.fleet,
            self.storage.kept,
            self.stages,
            self.segments,
            self.ranges,
            self.collections,
        )
        policies = default_policies(rules) if policies is None else policies
        self.locality = Locality(self.fleet, self.collections, view, policies)
        self.planner = ReducePlanner(
            turn,
            rules,
            self.fleet,
            self.stages,
            self.outputs,
            self.locality,
            self.forecasts,
            self.plans,
            self.eviction,
            self.admission,
            self.prefetcher,
        )
        self.divider = Divider(
            turn,
            rules,
            self.fleet,
            self.outputs,
            self.storage,
            self.forecasts,
            self.attempts,
            self.queue,
        )
        self.grouping = Grouping(
            turn, rules, self.fleet, self.outputs, self.storage, self.prefetcher
        )
        # Jobs, launches, outcomes, recovery.
        self.jobs = Jobs(
            turn,
            rules,
            self.fleet,
            self.starts,
            self.health,
            self.stages,
            self.queue,
            self.outputs,
            self.storage,
            self.attempts,
            self.collections,
            self.bound,
            self.locality,
            self.planner,
            self.prefetcher,
            self.divider,
            self.speculation,
        )
        self.launcher = Launcher(
            turn,
            rules,
            self.fleet,
            self.health,
            self.stages,
            self.queue,
            self.outputs,
            self.storage,
            self.attempts,
            self.planner,
            self.prefetcher,
            self.divider,
            self.grouping,
            self.collections,
            self.replicas,
            self.jobs,
            self.ranges,
        )
        self.outcomes = Outcomes(
            turn,
            rules,
            self.fleet,
            self.starts,
            self.health,
            self.stages,
            self.queue,
            self.outputs,
            self.storage,
            self.ranges,
            self.bound,
            self.room,
            self.attempts,
            self.planner,
            self.prefetcher,
            self.replication,
            self.divider,
            self.jobs,
        )
        self.recovery = Recovery(
            turn,
            rules,
            self.fleet,
            self.starts,
            self.health,
            self.stages,
            self.outputs,
            self.storage,
            self.collections,
            self.room,
            self.attempts,
            self.plans,
            self.planner,
            self.prefetcher,
            self.replication,
            self.divider,
            self.jobs,
            self.outcomes,
        )
        self.departures = Departures(
            turn,
            self.fleet,
            self.storage,
            self.outputs,
            self.room,
            self.replication,
            self.jobs,
            self.recovery,
        )
        self.allocation = Allocation(
            turn,
            rules,
            self.fleet,
            self.queue,
            self.outputs,
            self.storage,
            self.attempts,
            self.room,
            self.jobs,
            self.departures,
        )
        self.handlers = self._handlers()

    def _handlers(self) -> dict[type[Event], Callable[[Any], None]]:
        """Maps each event to the method that handles it."""
        return {
            ev.JobSubmitted: self.jobs.on_submitted,
            ev.CancelRequested: self.jobs.on_cancel_requested,
            ev.TaskSucceeded: self.outcomes.on_succeeded,
            ev.TaskRaised: self.outcomes.on_failed,
            ev.TaskCancelled: self.outcomes.on_cancelled,
            ev.FetchFailed: self.outcomes.on_fetch_failed,
            ev.BarrierReached: self.outcomes.on_barrier_reached,
            ev.NodeJoined: self.recovery.on_node_joined,
            ev.NodeLost: self.recovery.on_node_lost,
            ev.NodeWithdrawn: self.recovery.on_withdrawn,
            ev.ExecutorJoined: self.recovery.on_joined,
            ev.StartFailed: self.recovery.on_start_failed,
            ev.ExecutorLost: self.recovery.on_lost,
            ev.SpaceWanted: self.room.on_wanted,
            ev.SegmentMoved: self.room.on_moved,
            ev.SegmentNotMoved: self.room.on_not_moved,
            ev.NodeLeaves: self.departures.on_leaves,
            ev.PartsFetched: self._on_fetch_ended,
            ev.PartsNotFetched: self._on_fetch_ended,
            ev.BlockLost: self.storage.on_block_lost,
            ev.BlockPut: self.storage.on_put,
            ev.BlocksReleased: self.storage.on_released,
            ev.RddPersisted: self.collections.on_persisted,
            ev.RddForgotten: self._on_rdd_forgotten,
            ev.NamespaceMade: self.collections.on_made,
            ev.NamespaceDropped: self.collections.on_dropped,
            ev.RddReported: self.collections.on_reported,
            ev.CheckpointEnded: self.bound.on_ended,
            ev.CollectionsAsked: self.collections.on_asked,
            ev.MemoryAsked: self.storage.on_asked,
            ev.ShuffleForgotten: self._on_shuffle_forgotten,
            ev.BroadcastForgotten: self._on_broadcast_forgotten,
            ev.TimerFired: self._on_timer,
        }

    def handle(self, event: Event, now_s: float) -> list[Command]:
        """Handles one event; returns the commands that follow from it."""
        turn = self.turn
        turn.begin(now_s)
        self.handlers[type(event)](event)
        self.room.settle()
        if self.room.is_clearing:
            self.departures.settle()
        self.launcher.launch()
        self.allocation.settle()
        self.prefetcher.order()
        self.replication.order()
        self.replicas.settle()
        self.bound.settle()
        return turn.commands

    def _on_fetch_ended(self, event: ev.PartsFetched | ev.PartsNotFetched) -> None:
        """Passes the end of a fetch order to replication or the prefetcher, whichever gave it."""
        if self.replication.ordered(event.fetch):
            self.replication.end(event.fetch, isinstance(event, ev.PartsFetched))
        elif isinstance(event, ev.PartsFetched):
            self.prefetcher.on_fetched(event)
        else:
            self.prefetcher.on_not_fetched(event)

    def _on_rdd_forgotten(self, event: ev.RddForgotten) -> None:
        self.collections.on_forgotten(event)
        self.allocation.on_rdd_forgotten()
        self.bound.forget_unneeded()

    def _on_shuffle_forgotten(self, event: ev.ShuffleForgotten) -> None:
        self.outputs.on_forgotten(event)
        self.bound.forget_unneeded()

    def _on_broadcast_forgotten(self, event: ev.BroadcastForgotten) -> None:
        self.turn.add(DropBroadcast(event.broadcast))

    def _on_timer(self, event: ev.TimerFired) -> None:
        match event.timer:
            case CancelGrace():
                self.attempts.on_grace_over(event.timer)
            case LocalityWait():
                self.launcher.on_wait_over(event.timer)
            case LeaveBy():
                self.departures.on_deadline(event.timer)
            case ReplicaCheck():
                self.replicas.look()
            case AllocationCheck():
                self.allocation.on_wake()
            case SpeculationCheck():
                self.speculation.look(event.timer)
            case _:
                assert_never(event.timer)

    def become(self, other: Scheduler) -> None:
        """Takes over another scheduler's state; the other is not used afterwards."""
        vars(self).update(vars(other))
        self.handlers = self._handlers()

    def check(self) -> None:
        """Raises AssertionError where the state contradicts itself."""
        check(self)
