"""Deliberate bugs in what becomes of map outputs that are written in installments."""

from __future__ import annotations

from typing import Any

from mutating import mutation

from pyrite.ids import BlockRef
from pyrite.schedule.attempts import Attempts
from pyrite.schedule.outputs import ShuffleOutputs
from pyrite.shuffle.read import MapBlocks

_init = MapBlocks.__init__
_lose = ShuffleOutputs.lose


@mutation(Attempts, "discard_output", within=1000)
def what_a_failed_attempt_wrote_stays(self: Attempts, attempt: Any) -> None:
    attempt.partials = None


@mutation(MapBlocks, "__init__")
def a_reducer_reads_the_last_installment_only(
    self: MapBlocks, refs: Any, installments: Any = ()
) -> None:
    _init(self, refs)


@mutation(ShuffleOutputs, "lose", within=1000)
def a_lost_output_keeps_its_installments(self: ShuffleOutputs, index: int) -> list[BlockRef]:
    numbers = {number: self.partials[number] for number in self.numbers.get(index, ())}
    lost = _lose(self, index)
    self.partials.update(numbers)
    return lost[-1:] if numbers else lost
