"""A closure that can't be pickled names the captured variable that is to blame."""

import functools
import pickle
import socket
import threading

import cloudpickle
import pytest

from pyrite.execute.closures import NotSerializable, dumps, large_captures

LOCK = threading.Lock()


def blamed(obj):
    with pytest.raises(NotSerializable) as error:
        dumps(obj, "the function of map")
    return error.value


class Refuses(RuntimeError):
    def __init__(self):
        super().__init__("An RDD can't be used inside a task. Call actions in the driver.")
        self.cure = "Call actions in the driver."


class FakeRdd:
    def __init__(self):
        self.ctx = threading.Lock()

    def __reduce__(self):
        raise Refuses()


class Step:
    """An object of the engine that holds a function of the user's."""

    __module__ = "pyrite.rdd.narrow"

    def __init__(self, function):
        self.function = function


# By value, as classes typed at a prompt: only then a class takes its attributes along.
def local_class():
    class Job:
        def __init__(self):
            self.lock = threading.Lock()
            self.name = "job"

        def function(self):
            return lambda row: self.name

        def method(self, row):
            return self.name

    return Job()


def test_what_can_be_pickled_is_pickled_once(monkeypatch):
    calls = []
    real = cloudpickle.dumps

    def counting(obj):
        calls.append(obj)
        return real(obj)

    monkeypatch.setattr(cloudpickle, "dumps", counting)
    factor = 3
    assert pickle.loads(dumps(lambda row: row * factor, "the function of map"))(2) == 6
    assert len(calls) == 1


def test_a_closure_variable():
    lock = threading.Lock()
    error = blamed(lambda row: lock)
    assert (error.path, error.variable, error.type) == ("lock", "lock", "_thread.lock")
    line = test_a_closure_variable.__code__.co_firstlineno + 2
    assert str(error).splitlines() == [
        "the function of map can't be sent to an executor: lock, of type _thread.lock, can't be "
        "pickled: cannot pickle '_thread.lock' object",
        f"  in test_a_closure_variable.<locals>.<lambda>, {__file__}:{line}",
        "A lock has no meaning in another process: create it inside the task.",
    ]


def test_a_value_in_a_dict():
    with socket.socket() as sock:
        config = {"n": 1, "sock": sock}
        error = blamed(lambda row: config)
    assert (error.path, error.variable, error.type) == ("config['sock']", "config", "socket.socket")
    assert "mapPartitions" in error.cure


def test_a_global():
    function = eval("lambda row: lock", {"lock": LOCK})
    assert blamed(function).path == "lock"


def test_an_attribute_with_the_name_of_a_global_is_not_blamed():
    bad = threading.Lock()
    function = eval("lambda bad: lambda row: (row.lock, bad)", {"lock": LOCK})(bad)
    assert blamed(function).path == "bad"


def test_a_global_used_in_an_inner_function():
    function = eval("lambda row: [lock for _ in row]", {"lock": LOCK})
    assert blamed(function).path == "lock"


def test_a_default_argument():
    error = blamed(lambda row, first=1, lock=LOCK: row)
    assert (error.path, error.variable) == ("lock (a default argument)", "lock")
    assert blamed(lambda row, *, lock=LOCK: row).variable == "lock"


def test_an_attribute_of_self():
    assert blamed(local_class().function()).path == "self.lock"


def test_a_bound_method():
    error = blamed(local_class().method)
    assert error.path == "self.lock"
    assert error.functions[0].startswith("local_class.<locals>.Job.method, ")


def test_slots_and_lists():
    class Slotted:
        __slots__ = ("parts",)

    holder = Slotted()
    holder.parts = [1, threading.Lock()]
    assert blamed(lambda row: holder).path == "holder.parts[1]"


def test_a_class_attribute():
    class Holder:
        lock = threading.Lock()

    assert blamed(lambda row: Holder()).path == "Holder.lock"


def test_an_argument_of_partial():
    error = blamed(functools.partial(lambda lock, row: row, threading.Lock()))
    assert error.path == "lock"
    assert "<lambda>" in error.functions[0]
    assert blamed(functools.partial(print, file=LOCK)).path == "file"
    assert blamed(functools.partial(print, LOCK)).path == "argument_1"


def test_a_function_used_by_the_function():
    lock = threading.Lock()

    def helper(row):
        return lock

    error = blamed(lambda row: helper(row))
    assert error.path == "lock"
    assert ["helper" in error.functions[0], "<lambda>" in error.functions[1]] == [True, True]
    assert "\n  used by test_a_function_used_by_the_function.<locals>.<lambda>, " in str(error)


def test_the_engines_own_objects_are_not_in_the_path():
    lock = threading.Lock()
    assert blamed([Step(functools.partial(Step, lambda row: lock))]).path == "lock"


def test_an_object_that_refuses_keeps_its_words_and_its_cure():
    rdd = FakeRdd()
    error = blamed(lambda row: rdd)
    assert (error.path, error.cure) == ("rdd", "Call actions in the driver.")
    assert "An RDD can't be used inside a task." in error.reason
    assert str(error).endswith("\nCall actions in the driver.")
    assert str(error).count("Call actions") == 1


def test_an_error_in_a_users_reduce_is_shown_with_its_traceback():
    class Bad:
        def __reduce__(self):
            raise ValueError("no way")

    bad = Bad()
    error = blamed(lambda row: bad)
    assert (error.path, error.reason) == ("bad", "ValueError: no way")
    assert isinstance(error.__cause__, ValueError)


def test_a_generator():
    rows = (row for row in range(3))
    assert blamed(lambda row: rows).cure == "Make it a list first, or create it inside the task."


def test_plain_data():
    error = blamed({"a": [LOCK]})
    assert (error.path, error.variable, error.functions) == ("['a'][0]", "", ())
    assert "an object of type _thread.lock can't be pickled" in str(blamed(LOCK))
    assert blamed(lambda row, s=frozenset([LOCK]): s).variable == "s"
    assert "one of its keys" in blamed({LOCK: 1}).path


def test_too_deep_data_names_the_variable_only():
    deep = []
    for _ in range(5000):
        deep = [deep]
    error = blamed(lambda row: deep)
    assert (error.path, error.type) == ("deep", "list")
    assert error.cure.startswith("Make it flatter")


def test_a_cycle_does_not_hang_the_search():
    node = {"lock": threading.Lock()}
    node["self"] = node
    assert blamed(lambda row: node).path == "node['lock']"


def test_a_long_list_is_given_up_on():
    rows = [object() for _ in range(20_000)]
    rows.append(LOCK)
    assert blamed(lambda row: rows).path == "rows"


def test_an_unassigned_variable_is_skipped():
    lock = threading.Lock()

    def outer():
        return lambda row: (later, lock)
        later = 1

    assert blamed(outer()).path == "lock"


def test_the_error_travels():
    error = pickle.loads(pickle.dumps(blamed(lambda row: LOCK_HOLDER)))
    assert (error.path, error.variable) == ("LOCK_HOLDER['lock']", "LOCK_HOLDER")


LOCK_HOLDER = {"lock": LOCK}


def test_large_captures_are_named_with_their_sizes():
    table, text, small = list(range(100_000)), "x" * 300_000, 1
    found = large_captures([Step(lambda row: (table, text, small))], 100_000)
    assert [path for path, _ in found] == ["table", "text"]
    assert found[0][1] > found[1][1] > 300_000


def test_large_captures_of_helpers_and_defaults():
    table = list(range(100_000))

    def helper(row):
        return table

    assert [path for path, _ in large_captures(lambda row: helper(row), 1000)] == ["table"]
    assert large_captures(lambda row: row, 1000) == []
    found = large_captures(lambda row, bytes_=b"x" * 5000: row, 1000)
    assert [path for path, _ in found] == ["bytes_ (a default argument)"]


def test_what_cannot_be_pickled_has_no_size():
    assert large_captures(lambda row: LOCK, 0) == []
