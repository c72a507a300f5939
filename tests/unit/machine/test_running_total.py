"""A running total goes on at any value as `sum` would."""

from fractions import Fraction
from random import Random
from typing import Any

import pytest

from pyrite.machine.total import Total


class OwnInt(int):
    """An int that `sum` adds by its `+`."""


class OwnFloat(float):
    """A float that `sum` adds by its `+`."""


VALUES: list[Any] = [
    *(0, 1, -1, 2**62, -(2**62), 2**63 - 1, 2**70, True, OwnInt(3), OwnInt(2**70)),
    *(0.0, -0.0, 0.1, 1e16, -1e16, 1e308, float("inf"), float("nan"), OwnFloat(0.3)),
    *(Fraction(1, 3), 1j, "text", None),
]


def text_of(work: Any) -> str:
    try:
        return repr(work())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("seed", range(400))
def test_it_adds_as_sum_does(seed: int) -> None:
    random = Random(seed)
    kinds = [VALUES[:6], VALUES[10:14], VALUES[:17], VALUES]
    values = random.choices(random.choice(kinds), k=random.randrange(12))
    cut = random.randrange(len(values) + 1)

    def added() -> Any:
        total = Total()
        for value in values[:cut]:
            total.add(value)
        return total.add_all(iter(values[cut:]))

    assert text_of(added) == text_of(lambda: sum(values))
