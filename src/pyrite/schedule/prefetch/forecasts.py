"""Forecasts of reducers' input: how much they read, and from which nodes."""

from __future__ import annotations

from collections.abc import Iterable

from pyrite.ids import ShuffleId
from pyrite.place.predict import SeenOutput, observe, sampled
from pyrite.plan.stages import StageSpec
from pyrite.schedule.kept import Kept
from pyrite.schedule.outputs import Outputs, ShuffleOutputs
from pyrite.schedule.prefetch.plan import Forecast, Part

# With more cells (maps times parts), summing costs more than good placement saves.
MOST_CELLS = 4_000_000


class Forecasts:
    """Predicts what the tasks of a stage read of its shuffles, for their placement."""

    def __init__(self, outputs: Outputs, kept: Kept) -> None:
        self.outputs = outputs
        self.kept = kept

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
        if stage.samples is not None and not outputs.complete:
            how, expected = "sampled", sampled(stage.samples, seen, parts)
        else:
            how = "known" if outputs.complete else "observed"
            expected = observe(seen.values(), maps, parts)
        total = sum(each.size_bytes for each in expected)
        return Forecast(how, len(seen), expected, total, maps, outputs.in_memory())


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
