"""Which stages can have a heavy reducer's work divided over several tasks."""

from __future__ import annotations

from typing import NamedTuple

from pyrite.ids import ShuffleId
from pyrite.plan.program import NarrowInput, Program, ShuffleInput
from pyrite.rdd.dependency import Same
from pyrite.rdd.narrow import RecordOp
from pyrite.rdd.wide import Joined


class Divisible(NamedTuple):
    """Where pieces of a reducer's work come together.

    A piece computes the RDD at a place in the program from some maps' output of the shuffle. The
    whole then merges what the pieces made, and goes on from there.
    """

    place: int
    shuffle: ShuffleId


def find_divisible(program: Program) -> Divisible | None:
    """What in a stage can be divided, if something can: what its last RDD is made of, partition
    by partition, up to an operator that reads nothing but shuffles."""
    place = len(program.nodes) - 1
    above: list[int] = []
    while not any(isinstance(each, ShuffleInput) for each in program.nodes[place].inputs):
        inputs = program.nodes[place].inputs
        only = inputs[0] if len(inputs) == 1 else None
        if not isinstance(only, NarrowInput) or not isinstance(only.mapping, Same):
            return None
        above.append(place)
        place = only.node
    division = program.ops[place].division
    inputs = program.nodes[place].inputs
    shuffles = [each.shuffle for each in inputs if isinstance(each, ShuffleInput)]
    if division is None or len(shuffles) < len(inputs):
        # Pieces read all of the other side: each would call again the functions that make it.
        return None
    if division.passes_on:
        # Its rows are as they come: divided is what is made of them next, if that can be.
        if not above or program.ops[above[-1]].division is None:
            return None
        place = above.pop()
    elif isinstance(program.ops[place], Joined):
        # What is made of its rows one by one, pieces can do as well.
        while above and type(program.ops[above[-1]]) is RecordOp:
            place = above.pop()
    return Divisible(place, shuffles[division.input])
