"""What is given up so that a task without memory can be reported."""

import weakref

import pytest

from pyrite.execute.reserve import RESERVE_BYTES, Reserve
from pyrite.execute.traces import user_traceback


class Held:
    """Something that a function has in a variable."""


def hold(held, error):
    kept = Held()
    held.add(kept)
    raise error


def hold_twice(held, error):
    try:
        hold(held, ValueError())
    except ValueError as cause:
        raise error from cause


def hold_while_cleaning_up(held, error):
    try:
        hold(held, MemoryError())
    finally:
        hold(held, error)


@pytest.mark.parametrize("function", [hold, hold_twice, hold_while_cleaning_up])
def test_variables_of_failed_functions_are_freed(function):
    held: weakref.WeakSet[Held] = weakref.WeakSet()
    with pytest.raises(MemoryError) as caught:
        function(held, MemoryError())
    error = caught.value
    assert held
    before = user_traceback(error)
    Reserve().release(error)
    assert not held
    assert user_traceback(error) == before


def test_a_circle_of_exceptions_is_left():
    first, second = MemoryError(), ValueError()
    first.__cause__, second.__cause__ = second, first
    Reserve().release(first)


def test_the_reserve_is_set_aside_again():
    reserve = Reserve()
    assert len(reserve.held) == RESERVE_BYTES
    reserve.release(MemoryError())
    assert not reserve.held
    reserve.refill()
    assert len(reserve.held) == RESERVE_BYTES
