"""Forecasts of reducers' input: how much they read, and from which nodes."""

from __future__ import annotations

from collections.abc import Iterable

from pyrite.ids import NodeId, RddId, ShuffleId, partition_of
from pyrite.place.alikeness import observed_is_better
from pyrite.place.predict import SeenOutput, observe, sampled
from pyrite.place.sizes import add_up
from pyrite.plan.inputsizes import Sizes, input_sizes
from pyrite.plan.stages import StageSpec
from pyrite.schedule.fleet import Fleet
from pyrite.schedule.kept import Kept
from pyrite.schedule.outputs import Outputs, ShuffleOutputs
from pyrite.schedule.prefetch.plan import Forecast, Part
from pyrite.schedule.stages import Stages

# With more cells (maps times parts), summing costs more than good placement saves.
MOST_CELLS = 4_000_000


class Forecasts:
    """Predicts what the tasks of a stage read of its shuffles, for their placement."""

    def __init__(self, outputs: Outputs, kept: Kept, stages: Stages, fleet: Fleet) -> None:
        self.outputs = outputs
        self.kept = kept
        self.stages = stages
        self.fleet = fleet

    def reads(self, spec: StageSpec, partitions: Iterable[int]) -> dict[int, list[Part]]:
        """Returns the parts of shuffles that each partition reads."""
        kept, is_there = self.kept.ids(), self.kept.is_there
        return {
            index: list(spec.shape.shuffle_parts(index, kept, is_there)) for index in partitions
        }

    def forecast(self, stage: StageSpec, shuffle: ShuffleId) -> Forecast | None:
        """Forecasts the parts of a shuffle that the stage writes, from the maps that are done.

        Returns None where sizes were not reported, or are too many.
        """
        outputs = self.outputs.get(shuffle)
        if outputs is None:
            return None
        maps = len(outputs.refs)
        parts = parts_of(outputs)
        if not parts or parts * maps > MOST_CELLS:
            return None
        seen = seen_outputs(outputs)
        if len(seen) < maps - outputs.absent:
            return None
        samples = stage.samples
        if outputs.complete:
            how, expected = "known", observe(seen, maps, parts)
        elif samples is None:
            how, expected = "observed", observe(seen, maps, parts, self._input_sizes(stage))
        elif observed_is_better(samples, seen, parts):
            weights = [each.weight for each in samples]
            how, expected = "observed", observe(seen, maps, parts, weights)
        else:
            how, expected = "sampled", sampled(samples, seen, parts, self._map_places(stage))
        total = sum(each.size_bytes for each in expected)
        return Forecast(how, len(seen), expected, total, maps, outputs.in_memory())

    def _map_places(self, stage: StageSpec) -> dict[int, NodeId]:
        """Returns the nodes where unfinished maps run, or are to run."""
        run = self.stages.get(stage.id)
        if run is None or run.tasks is None:
            return {}
        places = {} if run.plan is None else dict(run.plan.places)
        slots = self.fleet.slots
        for task in run.tasks.pending:
            owner = next(run.tasks.queue.owners(task, slots), None)
            executor = None if owner is None else self.fleet.get(owner)
            if executor is not None:
                places[partition_of(task)] = executor.node
        for attempt in run.tasks.running():
            executor = self.fleet.get(attempt.executor)
            if executor is not None:
                places.update(dict.fromkeys(map(partition_of, attempt.keys), executor.node))
        return places

    def _input_sizes(self, stage: StageSpec) -> Sizes | None:
        """Returns how much each map reads of files, kept partitions and shuffles; None where it is
        not known of all."""
        sizes: dict[ShuffleId, Sizes] = {}
        for shuffle in stage.shape.shuffles:
            outputs = self.outputs.get(shuffle)
            if outputs is None or not outputs.complete or None in outputs.sizes:
                continue
            codes = [code for code in outputs.sizes if code is not None]
            if parts_of(outputs) * len(codes) <= MOST_CELLS:
                sizes[shuffle] = add_up(codes, parts_of(outputs))
        return input_sizes(stage.shape.steps, stage.sources, self._kept_sizes, sizes)

    def _kept_sizes(self, rdd: RddId, partitions: int) -> dict[int, int] | None:
        if self.kept.count(rdd) < partitions:
            return None
        return self.kept.sizes_by_index(rdd)


def parts_of(outputs: ShuffleOutputs) -> int:
    """Returns the number of parts per output; 0 where no sizes were reported."""
    return len(next((code for code in outputs.sizes if code is not None), b""))


def seen_outputs(outputs: ShuffleOutputs) -> dict[int, SeenOutput]:
    """Returns the map outputs that exist and reported their sizes."""
    return {
        index: SeenOutput(ref.node, code)
        for index, (ref, code) in enumerate(zip(outputs.refs, outputs.sizes, strict=True))
        if ref is not None and code is not None
    }
