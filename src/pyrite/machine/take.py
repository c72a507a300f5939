"""What sinks ask the machine for.

Each function returns None where the machine can't be used at all, and the result in a `Taken`
otherwise: rows are taken only by a sink that brings them to their end, plainly where it must. What
traces is loaded only when there are enough rows to be worth it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from pyrite.machine.chain import Chain
from pyrite.machine.total import Total


class Taken(NamedTuple):
    """A result of the machine, which may be None."""

    result: Any


class Reducing:
    """A function of a state and a value that gives the next state; the first value is the first
    state, if there is none yet."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self.function = function
        self.value: Any = None
        self.is_set = False

    def add(self, value: Any) -> None:
        self.value = self.function(self.value, value) if self.is_set else value
        self.is_set = True


class Count:
    """How many values there are."""

    def __init__(self) -> None:
        self.value = 0

    def add(self, value: Any) -> None:
        self.value += 1


def sum_rows(chain: Chain) -> Taken | None:
    """sum(rows)"""
    if not chain.tracing.is_usable():
        return None
    total = Total()
    row = chain.run_first(total.add)
    if not row:
        return Taken(total.result())
    from pyrite.machine.sinks import SumSink, drive

    return Taken(drive(chain, SumSink(total), row))


def count_rows(chain: Chain) -> Taken | None:
    """The number of rows; without steps there is nothing to trace."""
    if not chain.steps or not chain.tracing.is_usable():
        return None
    count = Count()
    row = chain.run_first(count.add)
    if not row:
        return Taken(count.value)
    from pyrite.machine.sinks import CountSink, drive

    return Taken(drive(chain, CountSink(count), row))


def reduce_rows(chain: Chain, function: Callable[[Any, Any], Any]) -> Taken | None:
    """The rows reduced by the function, in a list that is empty if there are none."""
    if not chain.tracing.is_usable():
        return None
    state = Reducing(function)
    _reduce(chain, state)
    return Taken([state.value] if state.is_set else [])


def fold_rows(chain: Chain, zero: Any, function: Callable[[Any, Any], Any]) -> Taken | None:
    """The rows folded into the zero, which is this task's own."""
    if not chain.tracing.is_usable():
        return None
    state = Reducing(function)
    state.value, state.is_set = zero, True
    _reduce(chain, state)
    return Taken(state.value)


def _reduce(chain: Chain, state: Reducing) -> None:
    row = chain.run_first(state.add)
    if row:
        from pyrite.machine.sinks import StateSink, drive

        drive(chain, StateSink(state), row)
