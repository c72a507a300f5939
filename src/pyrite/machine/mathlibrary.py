"""Whether the extension and the interpreter compute with the same functions of the C library."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from pyrite.machine._rows import Program
from pyrite.machine.emit import Code
from pyrite.machine.values import Number

_VALUES = 200


@lru_cache(maxsize=1)
def is_shared() -> bool:
    """Compares some results to the last bit: an interpreter may be linked with another library."""
    samples = [(number * 0.3719 + 0.0137, number * 0.0173 + 0.25) for number in range(_VALUES)]
    expected: dict[str, Callable[[float, float], float]] = {
        "EXP": lambda left, _: math.exp(left),
        "LOG": lambda left, _: math.log(left),
        "SQRT": lambda left, _: math.sqrt(left),
        "POW_FLOAT": lambda left, right: left**right,
    }
    return all(_agrees(name, function, samples) for name, function in expected.items())


def _agrees(
    name: str, function: Callable[[float, float], float], samples: list[tuple[float, float]]
) -> bool:
    code = Code(1)
    operands = [Number("f", code.new()), Number("f", code.new())]
    made = code.compute(name, "f", *operands)
    code.emit("END")
    program = Program(code.assembled({made.register}), {}, code.register_count, None, 0)
    for sample in samples:
        program.set("(ff)", operands[0].register, sample)
        program.count(0, 1, 1)
        if program.get("f", made.register) != function(*sample):
            return False
    return True
