"""Variables that tasks only add to and only the driver reads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

from pyrite.pysparkerrors import PySparkRuntimeError

T = TypeVar("T")


class State:
    """What one process knows of accumulators."""

    def __init__(self) -> None:
        # In the driver its accumulators, in an executor the copies that closures brought; by id.
        self.known: WeakValueDictionary[int, Accumulator[Any]] = WeakValueDictionary()
        # In an executor: what the running task has added to.
        self.added: dict[int, _TaskAccumulator[Any]] = {}


_here = State()
_lock = threading.RLock()


class AccumulatorParam(Generic[T]):
    """How values of one type are added; subclass it for a type of your own."""

    def zero(self, value: T) -> T:
        """The value that adding changes nothing, of the same shape as the given one."""
        raise NotImplementedError

    def addInPlace(self, value1: T, value2: T) -> T:
        """The sum of two values; the first may be changed and returned."""
        raise NotImplementedError


class AddingAccumulatorParam(AccumulatorParam[T]):
    """Values that the ``+=`` operator adds, with their zero."""

    def __init__(self, zero_value: T) -> None:
        self.zero_value = zero_value

    def zero(self, value: T) -> T:
        """The zero given at the start."""
        return self.zero_value

    def addInPlace(self, value1: T, value2: T) -> T:
        """The sum by ``+=``."""
        value1 += value2  # type: ignore[operator]
        return value1


INT_ACCUMULATOR_PARAM = AddingAccumulatorParam(0)
FLOAT_ACCUMULATOR_PARAM = AddingAccumulatorParam(0.0)
COMPLEX_ACCUMULATOR_PARAM = AddingAccumulatorParam(0.0j)


def param_for(value: Any) -> AccumulatorParam[Any]:
    """How to add values like this one, where the user doesn't say."""
    if isinstance(value, int):
        return INT_ACCUMULATOR_PARAM
    if isinstance(value, float):
        return FLOAT_ACCUMULATOR_PARAM
    if isinstance(value, complex):
        return COMPLEX_ACCUMULATOR_PARAM
    raise TypeError(
        f"No default accumulator param for type {type(value)}: "
        "pass an AccumulatorParam with zero and addInPlace as the second argument"
    )


class Accumulator(Generic[T]):
    """A variable that tasks add to and the driver reads.

    >>> counter = Accumulator(0, 1, INT_ACCUMULATOR_PARAM)
    >>> counter += 4
    >>> counter
    Accumulator<id=0, value=5>
    """

    def __init__(self, aid: int, value: T, accum_param: AccumulatorParam[T]) -> None:
        self.aid = aid
        self.accum_param = accum_param
        self._value = value
        self._deserialized = False
        with _lock:
            _here.known[aid] = self

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[int, T, AccumulatorParam[T]]]:
        # The zero travels too: it may depend on the value, such as a vector's length.
        return _restore, (self.aid, self.accum_param.zero(self._value), self.accum_param)

    @property
    def value(self) -> T:
        """The sum so far; only the driver can read or set it."""
        self._refuse_in_task()
        return self._value

    @value.setter
    def value(self, value: T) -> None:
        self._refuse_in_task()
        self._value = value

    def _refuse_in_task(self) -> None:
        if self._deserialized:
            raise PySparkRuntimeError(
                "Value `Accumulator.value` cannot be accessed inside tasks: a task can only add to "
                "an accumulator; read it in the driver after the action, or broadcast the value",
                "VALUE_NOT_ACCESSIBLE",
                {"value": "Accumulator.value"},
            )

    def add(self, term: T) -> None:
        """Add a value."""
        # A closure may hold this very method, bound, while the object becomes a task's copy.
        self._add(term)

    def _add(self, term: T) -> None:
        with _lock:
            self._value = self.accum_param.addInPlace(self._value, term)

    def __iadd__(self, term: T) -> Accumulator[T]:
        self.add(term)
        return self

    def __str__(self) -> str:
        return str(self._value)

    def __repr__(self) -> str:
        return f"Accumulator<id={self.aid}, value={self._value}>"


class _TaskAccumulator(Accumulator[T]):
    """The copy of an accumulator in an executor: every task adds to a fresh zero."""

    def __init__(self, aid: int, zero: T, accum_param: AccumulatorParam[T]) -> None:
        super().__init__(aid, zero, accum_param)
        self._zero = zero
        self._deserialized = True

    def _add(self, term: T) -> None:
        with _lock:
            if self.aid not in _here.added:
                # Adding may change the zero in place, and the next task needs it again.
                self._value = deepcopy(self._zero)
                _here.added[self.aid] = self
            self._value = self.accum_param.addInPlace(self._value, term)

    def reset(self) -> T:
        """Give up the sum and start at zero again."""
        value, self._value = self._value, self._zero
        return value


def _restore(aid: int, zero: T, accum_param: AccumulatorParam[T]) -> Accumulator[T]:
    with _lock:
        known = _here.known.get(aid)
        return _TaskAccumulator(aid, zero, accum_param) if known is None else known


def exchange(other: State) -> State:
    """Makes another process's state this one's; gives what was there."""
    global _here
    before, _here = _here, other
    return before


def start_task() -> None:
    """Forget what a task that failed before had added."""
    take_updates()


def take_updates() -> dict[int, Any]:
    """What the task added, by the id of the accumulator, and begin anew."""
    with _lock:
        updates = {aid: accumulator.reset() for aid, accumulator in _here.added.items()}
        _here.added.clear()
    return updates


def apply_updates(updates: Mapping[int, Any]) -> None:
    """Add a finished task's updates to the driver's accumulators that are still in use."""
    with _lock:
        for aid, update in updates.items():
            accumulator = _here.known.get(aid)
            if accumulator is not None:
                accumulator.add(update)
