"""The bound on recovery: which kept RDDs are checkpointed so that no loss of a node takes longer.

Stark, III-D. The lineage has the kept RDDs, with what was measured of them, and the shuffles
between them: map outputs die with their node unless they have replicas.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import ceil
from typing import NamedTuple

from pyrite.ids import NodeId, RddId, ShuffleId
from pyrite.plan.checkpoints import Cost
from pyrite.plan.program import ShuffleInput
from pyrite.plan.recoveries import LineageGraph, choose_within, ends_within
from pyrite.plan.stages import StageSpec
from pyrite.probe import probe
from pyrite.schedule import events as ev
from pyrite.schedule.collections import Collections
from pyrite.schedule.commands import WriteCheckpoints
from pyrite.schedule.fleet import Fleet
from pyrite.schedule.outputs import Outputs
from pyrite.schedule.rules import Rules
from pyrite.schedule.storage import Storage
from pyrite.schedule.turn import Turn


class MapOutputs(NamedTuple):
    """The map outputs of a shuffle, which are computed again but can't be checkpointed."""

    shuffle: ShuffleId


Step = RddId | MapOutputs


class RecoveryBound:
    """Watches how long lost partitions would take to recover, and orders checkpoints."""

    def __init__(
        self,
        turn: Turn,
        rules: Rules,
        fleet: Fleet,
        storage: Storage,
        outputs: Outputs,
        collections: Collections,
    ) -> None:
        self.turn = turn
        self.rules = rules
        self.fleet = fleet
        self.storage = storage
        self.outputs = outputs
        self.collections = collections
        # How long one task takes, at most, for an RDD or for a map output.
        self._delays_s: dict[Step, float] = {}
        # What each is computed from, as far as it is kept or comes through a shuffle.
        self._parents: dict[Step, tuple[Step, ...]] = {}
        self._written: dict[RddId, None] = {}
        self._writing: dict[RddId, None] = {}
        # What can't be written.
        self._refused: dict[RddId, None] = {}
        # The executors that recoveries were last checked for.
        self._fleet_changes = 0

    @property
    def is_writing(self) -> bool:
        return bool(self._writing)

    def written(self) -> set[RddId]:
        """The RDDs whose checkpoints end paths."""
        return set(self._written)

    def known(self) -> list[Step]:
        """What recoveries are known of."""
        return list({**self._parents, **self._delays_s})

    # What is measured

    def learn(self, stage: StageSpec, news: ev.KeptNews, task_s: float) -> None:
        """Records how long a task took for kept partitions, and for its map outputs."""
        if not self.rules.recovery_bound_s:
            return
        kept_s = 0.0
        for stored in news.stored:
            kept_s += stored.delay_s
            self._measure(stored.partition.rdd, stored.delay_s)
        if stage.writes is not None:
            self._measure(MapOutputs(stage.writes), max(0.0, task_s - kept_s))

    def _measure(self, step: Step, delay_s: float) -> None:
        self._delays_s[step] = max(delay_s, self._delays_s.get(step, 0.0))

    # Decisions

    def started(self, stage: StageSpec) -> None:
        """Checks all recoveries when a stage starts: its tasks read RDDs whose recoveries are
        within the bound each, and may not be together."""
        if self.rules.recovery_bound_s:
            self._trace(stage)
            self.check_recoveries()

    def materialised(self, stage: StageSpec) -> None:
        """Checks all recoveries after a stage has ended."""
        if self.rules.recovery_bound_s:
            self._trace(stage)
            self.check_recoveries()

    def settle(self) -> None:
        """Checks all recoveries after executors have come or gone, which share the rounds."""
        if self.rules.recovery_bound_s and self._fleet_changes != self.fleet.changes:
            self._fleet_changes = self.fleet.changes
            self.check_recoveries()

    def check_recoveries(self) -> None:
        """Orders checkpoints where a recovery would take too long."""
        lineage = self.lineage()
        bound_s = self.rules.recovery_bound_s
        if not lineage.is_late(bound_s):
            return
        if self.rules.recovery_algorithm == "EDGE":
            used = {each for found in self._parents.values() for each in found}
            chosen = ends_within(lineage, bound_s, used)
        else:
            chosen = choose_within(lineage, bound_s, self.rules.recovery_relax)
        rdds = tuple(step for step in chosen if not isinstance(step, MapOutputs))
        if rdds:
            probe("a recovery would take too long")
            self._writing.update(dict.fromkeys(rdds))
            total = sum(lineage.costs[rdd].bytes or 0 for rdd in rdds)
            self.turn.add(WriteCheckpoints(rdds, lineage.longest_s(), bound_s, total))

    def lineage(self) -> LineageGraph[Step]:
        """Returns what would have to be computed again, and from what; neither what is written, nor
        what is being written."""
        costs: dict[Step, Cost] = {}
        parents: dict[Step, tuple[Step, ...]] = {}
        maps: dict[Step, int] = {}
        safe = self._written.keys() | self._writing.keys()
        persisted = self.storage.persisted
        known = [rdd for rdd in sorted(persisted) if rdd in self._parents]
        pending: list[Step] = [rdd for rdd in known if rdd not in safe]
        while pending:
            step = pending.pop()
            if step not in costs:
                if isinstance(step, MapOutputs):
                    maps[step], costs[step] = self._cost_of_maps(step)
                else:
                    costs[step] = self._cost(step)
                found = self._parents.get(step, ())
                parents[step] = tuple(each for each in found if each not in safe)
                pending.extend(parents[step])
        ordered = dict(sorted(costs.items(), key=order))
        return LineageGraph(ordered, parents, persisted, maps, self._left())

    def _cost(self, rdd: RddId) -> Cost:
        lost = self._lost(self._partitions_on(rdd))
        delay_s = self._delays_s.get(rdd, 0.0) * self._rounds(rdd, lost)
        sizes = self.storage.kept.sizes_by_index(rdd)
        is_able = bool(sizes) and rdd not in self._refused
        return Cost(delay_s, sum(sizes.values()) if is_able else None)

    def _cost_of_maps(self, maps: MapOutputs) -> tuple[int, Cost]:
        lost = len(self._lost(self._outputs_on(maps.shuffle)))
        rounds = ceil(lost / self._left())
        return lost, Cost(self._delays_s.get(maps, 0.0) * max(1, rounds), None)

    def _rounds(self, rdd: RddId, lost: list[int]) -> int:
        """Returns how many partitions one executor computes again, one after the other, of those
        that are lost: partitions of a group stay together."""
        rounds = max(1, ceil(len(lost) / self._left()))
        collection = self.collections.of_rdd(rdd)
        if collection is not None:
            rounds = max(rounds, max(map(len, collection.groups(lost).values()), default=0))
        return rounds

    def _lost(self, places: Iterable[tuple[int, NodeId]]) -> list[int]:
        """Returns what goes with the fullest node."""
        lost: dict[NodeId, list[int]] = {}
        for index, node in places:
            lost.setdefault(node, []).append(index)
        return max(lost.values(), key=len, default=[])

    def _left(self) -> int:
        """Returns how many executors are left when the largest node is lost."""
        return max(1, len(self.fleet) - max(self.fleet.counts.values(), default=0))

    def _partitions_on(self, rdd: RddId) -> Iterator[tuple[int, NodeId]]:
        kept = self.storage.kept
        for index, executors in kept.live_of(rdd):
            executor = self.fleet.get(executors[0])
            if executor is not None:
                yield index, executor.node
        for index, refs in kept.blocks_of(rdd):
            yield index, refs[0].node

    def _outputs_on(self, shuffle: ShuffleId) -> Iterator[tuple[int, NodeId]]:
        outputs = self.outputs.get(shuffle)
        return iter(()) if outputs is None else enumerate(ref.node for ref in outputs.blocks())

    # Recoveries

    def _trace(self, stage: StageSpec) -> None:
        """Records from what the kept RDDs of a stage, and its map outputs, are computed."""
        steps = stage.shape.steps
        persisted = self.storage.persisted
        # The kept RDDs and shuffles that each step is computed from; parents come first.
        sources: list[tuple[Step, ...]] = []
        for step in steps:
            found: dict[Step, None] = {}
            for each in step.inputs:
                if isinstance(each, ShuffleInput):
                    if self.rules.output_copies < 2:
                        found[MapOutputs(each.shuffle)] = None
                else:
                    found.update(dict.fromkeys(sources[each.step]))
            if step.rdd is not None and step.rdd in persisted:
                self._parents[step.rdd] = tuple(found)
                found = {step.rdd: None}
            sources.append(tuple(found))
        if stage.writes is not None:
            self._parents[MapOutputs(stage.writes)] = sources[-1]

    # Ends

    def on_ended(self, event: ev.CheckpointEnded) -> None:
        self._writing.pop(event.rdd, None)
        is_needed = event.rdd in self.storage.persisted or event.rdd in self._parents
        if not self.rules.recovery_bound_s or not is_needed:
            return
        if event.is_written:
            self._written[event.rdd] = None
        elif not event.may_retry:
            self._refused[event.rdd] = None

    def forget_unneeded(self) -> None:
        """Forgets RDDs that are no longer kept, and shuffles that are gone, unless others are
        computed from them."""
        if not self.rules.recovery_bound_s:
            return
        needed: set[Step] = set()
        pending: list[Step] = [*self.storage.persisted]
        pending += [MapOutputs(each.shuffle) for each in self.outputs]
        while pending:
            step = pending.pop()
            if step not in needed:
                needed.add(step)
                pending.extend(self._parents.get(step, ()))
        for known in (self._parents, self._delays_s):
            for step in [each for each in known if each not in needed]:
                del known[step]
        for rdds in (self._written, self._writing, self._refused):
            for rdd in [each for each in rdds if each not in needed]:
                del rdds[rdd]


def order(item: tuple[Step, Cost]) -> tuple[bool, int]:
    step = item[0]
    return (True, step.shuffle) if isinstance(step, MapOutputs) else (False, step)
