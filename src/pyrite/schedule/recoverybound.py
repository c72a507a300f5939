"""The bound on recovery: which kept RDDs are checkpointed so that no loss of a node takes longer.

Stark, III-D. The graph has the kept RDDs, with what was measured of them, and the shuffles between
them: map outputs die with their node unless they have replicas.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import ceil
from typing import NamedTuple

from pyrite.ids import NodeId, RddId, ShuffleId
from pyrite.plan.checkpoints import Cost, choose, edge, longest_path_s
from pyrite.plan.program import ShuffleInput
from pyrite.plan.stages import StageSpec
from pyrite.probe import probe
from pyrite.schedule import events as ev
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
        self, turn: Turn, rules: Rules, fleet: Fleet, storage: Storage, outputs: Outputs
    ) -> None:
        self.turn = turn
        self.rules = rules
        self.fleet = fleet
        self.storage = storage
        self.outputs = outputs
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

    def materialised(self, stage: StageSpec) -> None:
        """Checks all recoveries after a stage has ended."""
        if self.rules.recovery_bound_s:
            self._trace(stage)
            self.check_paths()

    def settle(self) -> None:
        """Checks all recoveries after executors have come or gone, which share the rounds."""
        if self.rules.recovery_bound_s and self._fleet_changes != self.fleet.changes:
            self._fleet_changes = self.fleet.changes
            self.check_paths()

    def check_paths(self) -> None:
        """Orders checkpoints where a recovery would take too long."""
        costs, parents = self.graph()
        longest_s = longest_path_s(costs, parents)
        bound_s = self.rules.recovery_bound_s
        if longest_s <= bound_s:
            return
        if self.rules.recovery_algorithm == "EDGE":
            chosen = edge(costs, parents, bound_s)
        else:
            chosen = choose(costs, parents, bound_s, self.rules.recovery_relax)
        rdds = tuple(step for step in chosen if not isinstance(step, MapOutputs))
        if rdds:
            probe("a recovery would take too long")
            self._writing.update(dict.fromkeys(rdds))
            total = sum(costs[rdd].bytes or 0 for rdd in rdds)
            self.turn.add(WriteCheckpoints(rdds, longest_s, bound_s, total))

    def graph(self) -> tuple[dict[Step, Cost], dict[Step, tuple[Step, ...]]]:
        """Returns what would have to be computed again, and from what; neither what is written, nor
        what is being written."""
        costs: dict[Step, Cost] = {}
        parents: dict[Step, tuple[Step, ...]] = {}
        safe = self._written.keys() | self._writing.keys()
        kept = [rdd for rdd in self.storage.kept.ids() if rdd in self._parents]
        pending: list[Step] = [rdd for rdd in sorted(kept) if rdd not in safe]
        while pending:
            step = pending.pop()
            if step not in costs:
                costs[step] = self._cost(step)
                found = self._parents.get(step, ())
                parents[step] = tuple(each for each in found if each not in safe)
                pending.extend(parents[step])
        return dict(sorted(costs.items(), key=order)), parents

    def _cost(self, step: Step) -> Cost:
        delay_s = self._delays_s.get(step, 0.0)
        if isinstance(step, MapOutputs):
            return Cost(delay_s * self._rounds(self._outputs_on(step.shuffle)), None)
        sizes = self.storage.kept.sizes_by_index(step)
        delay_s *= self._rounds(self._partitions_on(step))
        is_able = bool(sizes) and step not in self._refused
        return Cost(delay_s, sum(sizes.values()) if is_able else None)

    def _rounds(self, nodes: Iterable[NodeId]) -> int:
        """Returns how many rounds of tasks the loss of the fullest node takes on the executors that
        are left."""
        lost: dict[NodeId, int] = {}
        for node in nodes:
            lost[node] = lost.get(node, 0) + 1
        if not lost:
            return 1
        fullest = max(lost, key=lost.__getitem__)
        left = len(self.fleet) - self.fleet.counts.get(fullest, 0)
        return ceil(lost[fullest] / max(1, left))

    def _partitions_on(self, rdd: RddId) -> Iterator[NodeId]:
        kept = self.storage.kept
        for _, executors in kept.live_of(rdd):
            executor = self.fleet.get(executors[0])
            if executor is not None:
                yield executor.node
        for _, refs in kept.blocks_of(rdd):
            yield refs[0].node

    def _outputs_on(self, shuffle: ShuffleId) -> Iterator[NodeId]:
        outputs = self.outputs.get(shuffle)
        return iter(()) if outputs is None else (ref.node for ref in outputs.blocks())

    # Lineage

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
