"""The running total of `sum`, exactly as the interpreter's own."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Iterator
from functools import reduce
from typing import Any, Literal

# Since 3.12 `sum` compensates for what is lost in adding floats.
COMPENSATES = sys.version_info >= (3, 12)
_LEAST_LONG = -(1 << 63)
_MOST_LONG = (1 << 63) - 1


class Total:
    """What `sum` holds between two values.

    It begins with ints, goes over to floats with the first float, and adds by `+` alone from the
    first value on that is neither, or with which the ints leave 64 bits.
    """

    __slots__ = ("compensation", "phase", "value")

    def __init__(self) -> None:
        self.phase: Literal["ints", "floats", "any"] = "ints"
        self.value: Any = 0
        self.compensation = 0.0

    def add(self, value: Any) -> None:
        """Adds one value."""
        if self.phase == "ints":
            self._add_to_int(value)
        elif self.phase == "floats":
            self._add_to_float(value)
        else:
            self.value = self.value + value

    def _add_to_int(self, value: Any) -> None:
        total = self.value + value
        kind = type(value)
        if (kind is int or kind is bool) and _LEAST_LONG <= total <= _MOST_LONG:
            self.value = total
            return
        self.phase = "floats" if type(total) is float else "any"
        self.value = total

    def _add_to_float(self, value: Any) -> None:
        if type(value) is float:
            total = self.value + value
            if COMPENSATES:
                self.compensation += lost_bits(self.value, value, total)
            self.value = total
        elif isinstance(value, int) and _LEAST_LONG <= int.__index__(value) <= _MOST_LONG:
            self.value += float(int.__index__(value))
        else:
            self.value = self.result() + value
            self.phase = "any"

    def add_all(self, values: Iterator[Any]) -> Any:
        """Adds all values; returns the sum."""
        if self.phase == "any":
            return reduce(operator.add, values, self.value)
        if self.compensation == 0.0:
            # A sum that starts here goes on as this one would.
            return sum(values, self.value)
        for value in values:
            self.add(value)
        return self.result()

    def result(self) -> Any:
        if self.phase == "floats" and self.compensation and math.isfinite(self.compensation):
            return self.value + self.compensation
        return self.value


def lost_bits(total: float, value: float, made: float) -> float:
    """What `made = total + value` has lost (Neumaier 1974)."""
    if abs(total) >= abs(value):
        return (total - made) + value
    return (value - made) + total
