"""Decides in which stages a heavy reducer's work can be divided over several tasks."""

from __future__ import annotations

from typing import NamedTuple

from pyrite.ids import ShuffleId
from pyrite.plan.program import NarrowInput, OperatorRun, Program, ShuffleInput
from pyrite.rdd.dependency import SAME, Same
from pyrite.rdd.narrow import RecordOp
from pyrite.rdd.op import Op
from pyrite.rdd.wide import Joined


class Divisible(NamedTuple):
    """Where a stage can be divided.

    A piece computes the step at index `place` of the program from some maps' outputs of the
    shuffle. A final task merges the pieces' results, and continues from there.
    """

    place: int
    shuffle: ShuffleId


def divide(program: Program) -> Divisible | None:
    """Returns where a stage can be divided, or None.

    A stage can be divided if it is a line of narrow steps after an operator that reads nothing but
    shuffles. The step at the returned place is cut behind its last divisible operator; the
    operators behind it become a step of their own.
    """
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
    """Whether each step reads only the one before it, and the first one only shuffles.

    Pieces read all of another input: each would call the functions again that compute it.
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
    """Returns the index of the last operator that pieces can run."""
    first = ops[0].division
    if first is None:
        return None
    if first.passes_on:
        # It passes rows on unchanged: the operator behind it is divided, if it can be.
        return 1 if len(ops) > 1 and ops[1].division is not None else None
    last = 0
    if isinstance(ops[0], Joined):
        # Pieces can run operators on single rows of the join as well.
        while last + 1 < len(ops) and type(ops[last + 1]) is RecordOp:
            last += 1
    return last


def end_step(program: Program, last: int) -> int:
    """Returns the place of the step that ends with this operator, after cutting the step in two if
    necessary."""
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
