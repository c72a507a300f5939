import gc
import pickle
import threading

import cloudpickle
import pytest

from pyrite import accumulators
from pyrite.accumulators import (
    COMPLEX_ACCUMULATOR_PARAM,
    FLOAT_ACCUMULATOR_PARAM,
    INT_ACCUMULATOR_PARAM,
    Accumulator,
    AccumulatorParam,
    apply_updates,
    param_for,
    start_task,
    take_updates,
)


class VectorParam(AccumulatorParam):
    def zero(self, value):
        return [0.0] * len(value)

    def addInPlace(self, value1, value2):
        for index, term in enumerate(value2):
            value1[index] += term
        return value1


def sent(accumulator):
    """The accumulator as an executor, which does not have the driver's, unpickles it."""
    pickled = pickle.dumps(accumulator)
    known = accumulators._here.known.pop(accumulator.aid)
    copy = pickle.loads(pickled)
    accumulators._here.known[accumulator.aid] = known
    return copy


def test_the_driver_reads_sets_and_adds():
    counter = Accumulator(0, 1, INT_ACCUMULATOR_PARAM)
    counter += 2.5
    assert (counter.value, str(counter), repr(counter)) == (
        3.5,
        "3.5",
        "Accumulator<id=0, value=3.5>",
    )
    counter.value = 2
    counter.add(5)
    assert counter.value == 7


@pytest.mark.parametrize(
    ("value", "param"),
    [(1, INT_ACCUMULATOR_PARAM), (1.0, FLOAT_ACCUMULATOR_PARAM), (1j, COMPLEX_ACCUMULATOR_PARAM)],
)
def test_numbers_have_a_default_param(value, param):
    assert param_for(value) is param
    assert param.addInPlace(param.zero(value), value) == value


def test_other_types_need_a_param():
    with pytest.raises(TypeError, match="No default accumulator param for type <class 'list'>"):
        param_for([1])


def test_a_task_adds_from_zero_and_cannot_read():
    copy = sent(Accumulator(1, 100, INT_ACCUMULATOR_PARAM))
    start_task()
    copy += 2
    copy.add(3)
    assert repr(copy) == "Accumulator<id=1, value=5>"
    with pytest.raises(RuntimeError, match=r"`Accumulator\.value` cannot be accessed inside tasks"):
        copy.value  # noqa: B018
    with pytest.raises(RuntimeError, match="cannot be accessed inside tasks"):
        copy.value = 3
    assert take_updates() == {1: 5}


def test_each_task_starts_anew_even_where_adding_changes_the_zero():
    copy = sent(Accumulator(2, [1.0, 1.0], VectorParam()))
    for _ in range(2):
        start_task()
        copy += [1, 2]
        copy += [1, 2]
        assert take_updates() == {2: [2.0, 4.0]}
    assert take_updates() == {}


def test_what_a_failed_task_added_is_forgotten():
    copy = sent(Accumulator(3, 0, INT_ACCUMULATOR_PARAM))
    copy += 7
    start_task()
    copy += 1
    assert take_updates() == {3: 1}


def test_a_closure_may_hold_the_method_that_adds():
    driver = Accumulator(8, 0, INT_ACCUMULATOR_PARAM)
    pickled = cloudpickle.dumps(driver.add)
    del accumulators._here.known[8]
    add = pickle.loads(pickled)
    start_task()
    add(3)
    assert take_updates() == {8: 3}


def test_two_closures_of_a_task_share_one_copy():
    driver = Accumulator(4, 0, INT_ACCUMULATOR_PARAM)
    pickled = pickle.dumps(driver)
    del accumulators._here.known[4]
    first, second = pickle.loads(pickled), pickle.loads(pickled)
    first += 1
    second += 1
    assert take_updates() == {4: 2}


def test_updates_reach_the_drivers_accumulator_once_each():
    counter = Accumulator(5, 10, INT_ACCUMULATOR_PARAM)
    apply_updates({5: 1, 999: 4})
    apply_updates({5: 2})
    assert counter.value == 13


def test_the_driver_gets_its_own_back():
    counter = Accumulator(6, 10, INT_ACCUMULATOR_PARAM)
    assert pickle.loads(pickle.dumps(counter)) is counter


def test_a_forgotten_accumulator_is_freed():
    counter = Accumulator(7, 10, INT_ACCUMULATOR_PARAM)
    assert 7 in accumulators._here.known
    del counter
    gc.collect()
    assert 7 not in accumulators._here.known
    apply_updates({7: 1})


def test_the_value_stays_out_of_the_pickle():
    small = pickle.dumps(Accumulator(8, [0.0] * 2, VectorParam()))
    assert len(pickle.dumps(Accumulator(9, [1.5e300] * 2, VectorParam()))) == len(small)


def test_adding_from_threads_loses_nothing():
    counter = Accumulator(10, 0, INT_ACCUMULATOR_PARAM)
    threads = [
        threading.Thread(target=lambda: [apply_updates({10: 1}) for _ in range(500)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for _ in range(500):
        counter += 1
    for thread in threads:
        thread.join()
    assert counter.value == 2500


def test_a_param_must_say_how_to_add():
    with pytest.raises(NotImplementedError):
        AccumulatorParam().zero(1)
    with pytest.raises(NotImplementedError):
        AccumulatorParam().addInPlace(1, 2)
