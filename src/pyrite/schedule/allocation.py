"""How many executors there should be: more while tasks wait, fewer when nodes are idle."""

from __future__ import annotations

from math import ceil, inf

from pyrite.ids import NodeId
from pyrite.probe import probe
from pyrite.schedule.attempts import Attempts
from pyrite.schedule.commands import NodeDismissed, SetTimer, WantExecutors
from pyrite.schedule.departures import Departures
from pyrite.schedule.fleet import Fleet
from pyrite.schedule.jobs import Jobs
from pyrite.schedule.outputs import Outputs
from pyrite.schedule.queue import StageQueue
from pyrite.schedule.room import Room
from pyrite.schedule.rules import AllocationRule, Rules
from pyrite.schedule.stages import StageRun
from pyrite.schedule.storage import Storage
from pyrite.schedule.timer import AllocationCheck
from pyrite.schedule.turn import Turn


class Allocation:
    """Spark's dynamic allocation, by nodes.

    Executors are counted, as in Spark; what comes and goes is a node with all of its executors.
    While tasks wait, or kept partitions find no room in any pool, 1, 2, 4 and so on are added, up
    to what the tasks can use. A node that has had no task for a while leaves, unless there would be
    fewer executors than are wanted.
    """

    def __init__(
        self,
        turn: Turn,
        rules: Rules,
        fleet: Fleet,
        queue: StageQueue[StageRun],
        outputs: Outputs,
        storage: Storage,
        attempts: Attempts,
        room: Room,
        jobs: Jobs,
        departures: Departures,
    ) -> None:
        self.turn = turn
        self.rule = rules.allocation
        self.fleet = fleet
        self.queue = queue
        self.outputs = outputs
        self.storage = storage
        self.attempts = attempts
        self.room = room
        self.jobs = jobs
        self.departures = departures
        rule = rules.allocation or AllocationRule()
        # How many executors are wanted, and how many are added next.
        self._target = min(max(rule.least, rule.initial), rule.most)
        self._step = 1
        # When they are added; None while nothing waits.
        self._adds_at_s: float | None = None
        # The executors of the start are kept until the first job, or until they were idle.
        self._has_begun = False
        # Since when nodes have had no task; those that hold kept partitions apart, once it matters.
        self._idle_s: dict[NodeId, float] = {}
        self._holding_s: dict[NodeId, float] = {}
        # The bytes that had found no room when there was last no job, and the executors that there
        # were when the first did not since.
        self._short_before = 0
        self._cramped: int | None = None
        self._told = WantExecutors(0)
        self._wakes_at_s = inf

    def on_wake(self) -> None:
        """The timer has fired; `settle` does what is due."""
        self._wakes_at_s = inf

    def on_rdd_forgotten(self) -> None:
        """Nodes may hold nothing any more."""
        self._idle_s = dict(
            sorted((self._holding_s | self._idle_s).items(), key=lambda each: each[1])
        )
        self._holding_s = {}

    def settle(self) -> None:
        """Looks at what waits and who is idle, after tasks were launched."""
        rule = self.rule
        if rule is None:
            return
        self._note_idle()
        self._note_shortage()
        self._has_begun |= bool(self.jobs) or bool(self._due(rule))
        need = self._needed(rule)
        if self._has_begun and need < self._target:
            self._target, self._step = need, 1
        self._grow(rule, need)
        # The cluster replaces nodes that leave, if it does not know better.
        self._tell(rule)
        if self._dismiss_idle(rule):
            self._tell(rule)
        self._set_timer(rule, need)

    # What is needed

    @property
    def waiting(self) -> int:
        """The number of tasks, and of copies of slow ones, that wait for an executor."""
        runs = (run.tasks for run in self.queue.everyone())
        sets = (each for each in runs if each is not None and not each.paused)
        return sum(len(each.pending) + len(each.slow) for each in sets)

    def _needed(self, rule: AllocationRule) -> int:
        """How many executors could be used now, within the bounds."""
        by_tasks = ceil((self.waiting + len(self.attempts)) * rule.ratio)
        needs = (by_tasks, self._for_barriers(), self._for_room(), rule.least)
        return min(max(needs), rule.most)

    def _for_barriers(self) -> int:
        """How many executors the widest barrier stage that waits must have at once."""
        runs = (run.tasks for run in self.queue.everyone() if run.spec.barrier)
        return max((len(each.pending) for each in runs if each is not None), default=0)

    def _for_room(self) -> int:
        """How many executors have pools for all that the jobs under way keep."""
        if self._cramped is None:
            return 0
        pools = self.storage.ledger.pools
        hosts = [node for node, count in self.fleet.planned.items() if count and node in pools]
        room = sum(pools[node].capacity_bytes for node in hosts)
        if not room:
            return 0
        each = room / self.fleet.staying
        return self._cramped + ceil((self.room.short_bytes - self._short_before) / each)

    def _note_shortage(self) -> None:
        if not self.jobs:
            self._short_before, self._cramped = self.room.short_bytes, None
        elif self._cramped is None and self.room.short_bytes > self._short_before:
            self._cramped = self.fleet.staying

    # More

    def _grow(self, rule: AllocationRule, need: int) -> None:
        if not self.waiting and self._for_room() <= self._target:
            self._adds_at_s, self._step = None, 1
        elif self._adds_at_s is None:
            self._adds_at_s = self.turn.now_s + rule.backlog_s
        elif need <= self._target:
            self._step = 1
        elif self._adds_at_s <= self.turn.now_s:
            self._adds_at_s = self.turn.now_s + rule.sustained_s
            self._add(need)

    def _add(self, need: int) -> None:
        """Wants further executors: twice as many as the last time, or those that are lacking."""
        there = max(self._target, self.fleet.staying)
        target = min(there + self._step, need)
        if target > self._target:
            probe("further executors are wanted")
            self._target = target
        self._step = self._step * 2 if target == there + self._step else 1

    def _tell(self, rule: AllocationRule) -> None:
        """Tells the cluster how many executors are wanted; whole nodes, and no more than may be."""
        size = rule.node_executors
        nodes = min(ceil(self._target / size), rule.most // size)
        told = WantExecutors(nodes * size, tuple(self.room.leaving))
        if told != self._told:
            self._told = told
            self.turn.add(told)

    # Fewer

    def _note_idle(self) -> None:
        for node in self.fleet.take_stirred():
            if node in self.fleet.planned and self.fleet.is_idle(node):
                if node not in self._holding_s:
                    self._idle_s.setdefault(node, self.turn.now_s)
            else:
                self._idle_s.pop(node, None)
                self._holding_s.pop(node, None)

    @property
    def spare(self) -> int:
        """How many executors more there are than wanted."""
        least = 0 if self.rule is None else self.rule.least
        return self.fleet.staying - max(least, self._target)

    def _dismiss_idle(self, rule: AllocationRule) -> bool:
        """Has nodes leave that were idle for long enough, the longest idle first; returns whether
        there were any."""
        dismissed = False
        for node in self._due(rule):
            if self.fleet.planned[node] > self.spare:
                continue
            if node in self._idle_s and self._holds_kept(node):
                self._holding_s[node] = self._idle_s.pop(node)
                continue
            if self.fleet.planned[node] == self.fleet.staying and self._holds_outputs(node):
                # No other node could take them.
                continue
            probe("an idle node leaves")
            since_s = (self._idle_s if node in self._idle_s else self._holding_s).pop(node)
            self.turn.add(NodeDismissed(node, self.turn.now_s - since_s))
            self.departures.begin(node)
            dismissed = True
        if dismissed:
            self.room.settle()
            self.departures.settle()
        return dismissed

    def _due(self, rule: AllocationRule) -> list[NodeId]:
        """The nodes that have been idle for long enough, if there are executors to spare."""
        return [node for node, at_s in self._ends(rule) if at_s <= self.turn.now_s]

    def _ends(self, rule: AllocationRule) -> list[tuple[NodeId, float]]:
        """When idle nodes may leave, if there are executors to spare."""
        if self._has_begun and self.spare <= 0:
            return []
        return [
            *((node, since_s + rule.idle_s) for node, since_s in self._idle_s.items()),
            *((node, since_s + rule.cached_idle_s) for node, since_s in self._holding_s.items()),
        ]

    def _holds_kept(self, node: NodeId) -> bool:
        """Whether the node holds kept partitions, as blocks or as live rows."""
        kept = self.storage.kept
        return any(kept.holds_live(each.id) for each in self.fleet.on(node)) or any(
            ref.node == node for _, ref in kept.all_blocks()
        )

    def _holds_outputs(self, node: NodeId) -> bool:
        return any(outputs.on(node) for outputs in self.outputs)

    # The timer

    def _set_timer(self, rule: AllocationRule, need: int) -> None:
        # Nodes that are due already have to stay for another reason.
        times_s = [each for _, each in self._ends(rule) if each > self.turn.now_s]
        if self._adds_at_s is not None and need > self._target:
            times_s.append(self._adds_at_s)
        at_s = min(times_s, default=inf)
        if at_s < self._wakes_at_s:
            self._wakes_at_s = at_s
            self.turn.add(SetTimer(AllocationCheck(), at_s))
