"""The values of a key behave as PySpark's."""

import pickle
from collections.abc import Iterable, Sized

from pyrite.resultiterable import ResultIterable


def test_values_are_counted_and_iterated_repeatedly() -> None:
    values = ResultIterable([3, 1, 2])
    assert list(values) == list(values) == [3, 1, 2]
    assert len(values) == values.maxindex == 3
    assert (values.data, values.index) == ([3, 1, 2], 0)
    assert 1 in values and 4 not in values
    assert not ResultIterable([])


def test_values_can_do_what_pysparks_can_and_what_lists_can() -> None:
    values = ResultIterable([1])
    assert isinstance(values, Iterable) and isinstance(values, Sized)
    assert values == [1] and values[0] == 1
    assert repr(values) == "ResultIterable([1])"


def test_values_travel() -> None:
    travelled = pickle.loads(pickle.dumps(ResultIterable((1, 2))))
    assert type(travelled) is ResultIterable
    assert (travelled.data, travelled.maxindex) == ([1, 2], 2)
