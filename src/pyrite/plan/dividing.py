"""Which stages can have a heavy reducer's work divided over several tasks."""

from __future__ import annotations

from typing import NamedTuple

from pyrite.ids import ShuffleId
from pyrite.plan.program import NarrowInput, OperatorRun, Program, ShuffleInput
from pyrite.rdd.dependency import SAME, Same
from pyrite.rdd.narrow import RecordOp
from pyrite.rdd.op import Op
from pyrite.rdd.wide import Joined


class Divisible(NamedTuple):
    """Where pieces of a reducer's work come together.

    A piece computes the step at a place in the program from some maps' output of the shuffle. The
    whole then merges what the pieces made, and goes on from there.
    """

    place: int
    shuffle: ShuffleId


def divide(program: Program) -> Divisible | None:
    """What in a stage can be divided, if something can: what its last RDD is made of, partition
    by partition, up to an operator that reads nothing but shuffles. The step at the place ends
    there from now on; what was done next in it is a step of its own."""
    if not is_one_line(program):
        return None
    ops = [op for place in range(len(program.steps)) for op in program.ops(place)]
    shuffles = [e.shuffle for e in program.steps[0].inputs if isinstance(e, ShuffleInput)]
    division = ops[0].division
    last = last_divided(ops)
    if division is None or last is None:
        return None
    return Divisible(end_step(program, last), shuffles[division.input])


def is_one_line(program: Program) -> bool:
    """Whether each step is made of the one before it, and the first one of nothing but shuffles.

    Pieces read all of another side: each would call again the functions that make it.
    """
    first, *others = program.steps
    if not first.inputs or not all(isinstance(each, ShuffleInput) for each in first.inputs):
        return False
    return all(
        len(step.inputs) == 1
        and isinstance(only := step.inputs[0], NarrowInput)
        and isinstance(only.mapping, Same)
        and only.step == before
        for before, step in enumerate(others)
    )


def last_divided(ops: list[Op]) -> int | None:
    """The last operator whose work pieces can do."""
    first = ops[0].division
    if first is None:
        return None
    if first.passes_on:
        # Its rows are as they come: divided is what is made of them next, if that can be.
        return 1 if len(ops) > 1 and ops[1].division is not None else None
    last = 0
    if isinstance(ops[0], Joined):
        # What is made of its rows one by one, pieces can do as well.
        while last + 1 < len(ops) and type(ops[last + 1]) is RecordOp:
            last += 1
    return last


def end_step(program: Program, last: int) -> int:
    """The place of the step that ends with this operator of a line of steps, cut in two if need
    be."""
    place = 0
    while last >= len(program.ops(place)):
        last -= len(program.ops(place))
        place += 1
    link, first, end = program.runs[place]
    if first + last + 1 == end:
        return place
    step = program.steps[place]
    behind = [
        each._replace(inputs=(NarrowInput(number, SAME),))
        for number, each in enumerate(program.steps[place:], place)
    ]
    program.steps[place:] = [step._replace(rdd=None), *behind]
    middle = first + last + 1
    program.runs[place : place + 1] = [
        OperatorRun(link, first, middle),
        OperatorRun(link, middle, end),
    ]
    return place
