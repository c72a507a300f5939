"""Rows and the record operators that are still to be run over them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from types import BuiltinFunctionType, FunctionType
from typing import Any, Literal, TypeAlias

from pyrite.machine.grouprows import GroupRows

Step: TypeAlias = tuple[str, Any]
# EAGER and DOUBTING are for tests: from the first row on, and giving back every third row.
Mode: TypeAlias = Literal["TRUE", "FALSE", "EAGER", "DOUBTING"]

# Tracing takes a millisecond or two, which few rows, and few results, are not worth.
PLAIN_ROWS = 2000
_ROWS_AT_A_TIME = 64
_DOUBTED = 3
# Steps that find the values of a row's key in the other side of a join; they have a Lookup in place
# of a function.
LOOKUPS = ("join", "leftOuterJoin", "rightOuterJoin", "subtractByKey")
# The step behind a cogroup that pairs the values of both sides.
PAIRING = "fullOuterJoin"
_NAMED = (type, BuiltinFunctionType)


class Tracing:
    """How the machine is used, and what it says about the functions that it has seen."""

    def __init__(self, mode: Mode, said: list[str] | None = None) -> None:
        self.mode = mode
        self.said = [] if said is None else said

    def is_usable(self) -> bool:
        """Whether there is a machine, and nothing stands against its use."""
        return self.mode != "FALSE" and IS_BUILT and not is_observed()

    @property
    def plain_rows(self) -> int:
        """How many rows the interpreter runs before the others are traced."""
        return PLAIN_ROWS if self.mode == "TRUE" else 1

    @property
    def give_back_every(self) -> int:
        return _DOUBTED if self.mode == "DOUBTING" else 0


OFF = Tracing("FALSE")


class Chain:
    """The last rows of a task, and its steps over them.

    `alone` says that no code of the user's runs between two rows, apart from the steps.
    """

    def __init__(
        self,
        rows: Iterator[Any],
        steps: list[Step],
        run_steps: Callable[[Iterable[Any], list[Step]], Iterator[Any]],
        tracing: Tracing = OFF,
        alone: bool = False,
    ) -> None:
        self.rows = rows
        self.steps = steps
        self.tracing = tracing
        self.alone = alone
        self._run_steps = run_steps

    def run(self) -> Iterator[Any]:
        """The results of the steps, by the interpreter."""
        return self.over(self.rows)

    def last_rows(self) -> Iterator[Any]:
        """The same; where there are no steps, just as the last operator made them."""
        return self.run() if self.steps else self.rows

    def over(self, rows: Iterator[Any]) -> Iterator[Any]:
        """The same for other rows."""
        return self._run_steps(rows, self.steps)

    def run_first(self, absorb: Callable[[Any], None]) -> list[Any]:
        """Has the interpreter run the first rows; returns the last of them, in a list.

        It is empty if there are no more rows: nothing is worth tracing then.
        """
        for value in self.first_results():
            absorb(value)
        row = list(islice(self.rows, 1))
        for value in self.over(iter(row)):
            absorb(value)
        return row

    def first_results(self) -> Iterator[Any]:
        """The results of the first rows but the last of them, by the interpreter; of fewer rows
        where each has many, or groups many values."""
        weight = self.rows.values_each if isinstance(self.rows, GroupRows) else 1
        left, made = (self.tracing.plain_rows - 1) // weight, 0
        while left > 0 and made <= self.tracing.plain_rows:
            some = min(left, _ROWS_AT_A_TIME)
            left -= some
            for value in self.over(islice(self.rows, some)):
                made += 1
                yield value

    def behind(self, rows: Iterator[Any], steps: list[Step], alone: bool) -> Chain:
        """Steps over other rows, run as these are."""
        return Chain(rows, steps, self._run_steps, self.tracing, alone)

    def say(self, sink: str, refusal: str = "") -> None:
        """Notes that the machine runs these steps into a sink, or why it does not."""
        named = [named_step(kind, function) for kind, function in self.steps]
        verdict = f"in Python: {refusal}" if refusal else "in C"
        self.tracing.said.append(f"{', '.join([*named, sink])}: {verdict}")


class ChainRows:
    """The rows of a chain; what follows can be traced with its steps."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self._rows: Iterator[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._rows is None:
            self._rows = self.chain.run()
        return next(self._rows)


def named_step(kind: str, function: Any) -> str:
    """An operator and its function, as they are told."""
    return f"{kind} {_place(kind, function)}".rstrip()


def verdict_on(step: str, said: Iterable[str]) -> str:
    """Where the machine said last that a step runs, and why; empty if it said nothing.

    >>> verdict_on("map f (a.py:1)", ["map f (a.py:1), filter g (a.py:2), sum: in C"])
    'in C'
    """
    for line in reversed(list(said)):
        if f"{step}, " in line:
            return line[line.rindex(": in ") + 2 :]
    return ""


def _place(kind: str, function: Any) -> str:
    """The name of a function, and where it is written."""
    if function is None or kind == PAIRING or kind in LOOKUPS:
        return ""
    if type(function) is not FunctionType:
        return str(function.__name__ if type(function) in _NAMED else type(function).__name__)
    code = function.__code__
    name = function.__qualname__.rpartition("<locals>.")[2]
    return f"{name} ({code.co_filename}:{code.co_firstlineno})"


def is_observed() -> bool:
    """Whether a debugger, a profiler or a measurement of coverage watches this process."""
    if sys.gettrace() is not None or sys.getprofile() is not None:
        return True
    monitoring = getattr(sys, "monitoring", None)
    return monitoring is not None and any(monitoring.get_tool(number) for number in range(6))


def _is_built() -> bool:
    try:
        from pyrite.machine import _rows
    except ImportError:
        return False
    return hasattr(_rows, "Program")


IS_BUILT = _is_built()
