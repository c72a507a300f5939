"""A user's function that fails: what the user is told, and that the context goes on."""

from __future__ import annotations

import os
import re
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pyrite
from pyrite import SparkContext
from pyrite.errors import PyriteError, ReferencedInTask, TaskFailed, UserError
from pyrite.execute.closures import NotSerializable

RddAction = Callable[[Any], Any]


def failure_of(action: Callable[[], Any]) -> TaskFailed:
    with pytest.raises(TaskFailed) as caught:
        action()
    return caught.value


def refusal_of(action: Callable[[], Any]) -> NotSerializable:
    with pytest.raises(NotSerializable) as caught:
        action()
    return caught.value


def divide(x: int) -> float:
    return 1 / (x - 3)


def stop(*_: Any) -> Any:
    raise StopIteration("no more")


class TestStopIteration:
    @pytest.mark.parametrize(
        "action",
        [
            lambda rdd: rdd.map(stop).collect(),
            lambda rdd: rdd.filter(stop).count(),
            lambda rdd: rdd.mapPartitions(stop).collect(),
            lambda rdd: rdd.mapPartitions(lambda rows: (next(iter(())) for _ in rows)).collect(),
            lambda rdd: rdd.foreach(stop),
            lambda rdd: rdd.keyBy(lambda x: 1).reduceByKey(stop).collect(),
        ],
    )
    def test_the_first_line_names_it_and_the_cure(
        self, sc: SparkContext, action: RddAction
    ) -> None:
        error = failure_of(lambda: action(sc.parallelize(range(4), 2)))
        first = str(error).splitlines()[0]
        assert first.startswith("PySparkRuntimeError: [STOP_ITERATION_OCCURRED] StopIteration")
        assert first.endswith("use next(rows, default)")
        assert "generator raised" not in str(error)

    def test_in_the_driver_it_does_not_end_a_generator_around_the_action(
        self, sc: SparkContext
    ) -> None:
        rdd = sc.parallelize(range(4), 4)
        with pytest.raises(RuntimeError, match="StopIteration: no more; a function must not"):
            rdd.aggregate(0, max, stop)
        with pytest.raises(RuntimeError, match="StopIteration: no more"):
            rdd.reduce(stop)


class TestRaise:
    def test_message_begins_with_the_users_exception(self, sc: SparkContext) -> None:
        error = failure_of(lambda: sc.parallelize(range(4), 4).map(divide).collect())
        assert str(error).startswith("ZeroDivisionError: division by zero\n")

    def test_traceback_has_the_users_file_and_line_and_no_frame_of_the_engine(
        self, sc: SparkContext
    ) -> None:
        error = failure_of(lambda: sc.parallelize(range(4), 4).map(divide).collect())
        line = divide.__code__.co_firstlineno + 1
        assert f'{os.path.basename(__file__)}", line {line}, in divide' in str(error)
        assert "return 1 / (x - 3)" in str(error)
        files = re.findall(r'File "([^"]+)"', str(error))
        assert [os.path.basename(each) for each in files] == [os.path.basename(__file__)]

    def test_attributes_carry_the_facts(self, sc: SparkContext) -> None:
        error = failure_of(lambda: sc.parallelize(range(4), 4).map(divide).collect())
        assert error.partition == 3
        assert error.attempts == 1
        assert "partition 3 of 4" in str(error)
        assert isinstance(error.original, ZeroDivisionError)
        assert isinstance(error, UserError)
        assert error.traceback.startswith("Traceback (most recent call last):")

    def test_a_chain_of_causes_is_shown_whole(self, sc: SparkContext) -> None:
        def parse(x: int) -> int:
            try:
                return int("no number")
            except ValueError as error:
                raise LookupError("row 7") from error

        error = failure_of(lambda: sc.parallelize([1], 1).map(parse).collect())
        assert str(error).startswith("LookupError: row 7\n")
        assert "ValueError: invalid literal" in str(error)
        assert "direct cause" in str(error)
        assert os.path.dirname(pyrite.__file__) not in error.traceback

    @pytest.mark.parametrize("place", ["map side", "reduce side"])
    def test_shuffles_report_the_users_function_too(self, sc: SparkContext, place: str) -> None:
        def merge(a: int, b: int) -> int:
            raise KeyError("user")

        rows = [(1, 1), (1, 2)] if place == "map side" else [(1, 1)]
        rdd = sc.parallelize(rows, 1).union(sc.parallelize([(1, 5)], 1)).reduceByKey(merge, 1)
        error = failure_of(rdd.collect)
        assert str(error).startswith("KeyError: 'user'\n")
        assert os.path.dirname(pyrite.__file__) not in error.traceback

    def test_retries_are_counted(self, start: Any, marks: Any) -> None:
        sc = start("local[2,3]")

        def fail(x: int) -> int:
            marks.add("try")
            raise OSError("flaky")

        error = failure_of(lambda: sc.parallelize([1], 1).map(fail).collect())
        assert error.attempts == marks.count("try") == 3
        assert "failed 3 times" in str(error)


def stop_iteration(*_: Any) -> Any:
    raise StopIteration("mine")


def stopping_generator(rows: Any) -> Any:
    yield next(iter(()))


STOPPING: dict[str, RddAction] = {
    "map": lambda rdd: rdd.map(stop_iteration).collect(),
    "map, chained": lambda rdd: rdd.map(str).map(stop_iteration).filter(bool).collect(),
    "filter": lambda rdd: rdd.filter(stop_iteration).collect(),
    "flatMap": lambda rdd: rdd.flatMap(stop_iteration).collect(),
    "flatMap, generator": lambda rdd: rdd.flatMap(stopping_generator).collect(),
    "mapPartitions": lambda rdd: rdd.mapPartitions(stop_iteration).collect(),
    "mapPartitions, generator": lambda rdd: rdd.mapPartitions(stopping_generator).collect(),
    "mapPartitionsWithIndex": lambda rdd: rdd.mapPartitionsWithIndex(stop_iteration).collect(),
    "foreach": lambda rdd: rdd.foreach(stop_iteration),
    "foreachPartition": lambda rdd: rdd.foreachPartition(stop_iteration),
    "reduce": lambda rdd: rdd.reduce(stop_iteration),
    "fold": lambda rdd: rdd.fold(0, stop_iteration),
    "aggregate": lambda rdd: rdd.aggregate(0, stop_iteration, max),
    "treeReduce": lambda rdd: rdd.treeReduce(stop_iteration),
    "keyBy": lambda rdd: rdd.keyBy(stop_iteration).collect(),
    "groupBy": lambda rdd: rdd.groupBy(stop_iteration).collect(),
    "sortBy": lambda rdd: rdd.sortBy(stop_iteration).collect(),
    "max": lambda rdd: rdd.max(stop_iteration),
    "takeOrdered": lambda rdd: rdd.takeOrdered(2, stop_iteration),
    "mapValues": lambda rdd: rdd.keyBy(str).mapValues(stop_iteration).collect(),
    "flatMapValues": lambda rdd: rdd.keyBy(str).flatMapValues(stop_iteration).collect(),
    "reduceByKey": lambda rdd: rdd.keyBy(lambda x: 0).reduceByKey(stop_iteration).collect(),
    "combineByKey": (lambda rdd: rdd.keyBy(str).combineByKey(stop_iteration, max, max).collect()),
    "partitionFunc": lambda rdd: rdd.keyBy(str).partitionBy(2, stop_iteration).collect(),
    "sortByKey": lambda rdd: rdd.keyBy(str).sortByKey(True, 1, stop_iteration).collect(),
}


@pytest.mark.parametrize("where", STOPPING)
def test_stop_iteration_fails_the_job_and_drops_no_row(sc: SparkContext, where: str) -> None:
    with pytest.raises(TaskFailed, match="StopIteration"):
        STOPPING[where](sc.parallelize(range(10), 2))


class Holder:
    """An object with state, as programs pass to their functions."""

    def __init__(self, value: Any) -> None:
        self.value = value


class TestCaptures:
    """Closures over things that live in the driver only."""

    @pytest.fixture
    def opened(self, tmp_path: Path) -> Any:
        with open(tmp_path / "log", "w") as file, socket.socket() as sock:
            yield {
                "lock": threading.Lock(),
                "rlock": threading.RLock(),
                "sock": sock,
                "file": file,
                "generator": (x for x in range(3)),
                "thread": threading.Thread(target=print),
                "condition": threading.Condition(),
            }

    @pytest.mark.parametrize(
        "name", ["lock", "rlock", "sock", "file", "generator", "thread", "condition"]
    )
    def test_the_variable_and_a_cure_are_named(
        self, sc: SparkContext, opened: dict[str, Any], name: str
    ) -> None:
        culprit = opened[name]
        rdd = sc.parallelize([1]).map(lambda x: (x, culprit))
        error = refusal_of(rdd.collect)
        assert error.variable == "culprit"
        assert "culprit" in str(error)
        assert os.path.basename(__file__) in str(error)
        assert error.cure in str(error) and "task" in error.cure

    def test_the_attribute_is_named(self, sc: SparkContext) -> None:
        holder = Holder(threading.Lock())
        error = refusal_of(sc.parallelize([1]).map(lambda x: holder.value).collect)
        assert error.path.startswith("holder")
        assert "lock" in error.type

    def test_the_context(self, sc: SparkContext) -> None:
        error = refusal_of(sc.parallelize([1]).map(lambda x: sc.parallelize([x])).collect)
        assert error.variable == "sc"
        assert "driver" in str(error)

    def test_an_rdd(self, sc: SparkContext) -> None:
        other = sc.parallelize([1, 2])
        error = refusal_of(sc.parallelize([1]).map(lambda x: other.count()).collect)
        assert error.variable == "other"
        assert "join" in str(error) and "broadcast" in str(error)

    def test_an_rdd_of_a_shuffle(self, sc: SparkContext) -> None:
        other = sc.parallelize([1, 2])
        pairs = sc.parallelize([(1, 1)])
        error = refusal_of(lambda: pairs.reduceByKey(lambda a, b: other.count()))
        assert error.variable == "other"

    @pytest.mark.parametrize(
        "freeze", ["cache", "checkpoint", "localCheckpoint", "distinct", "groupByKey", "collect"]
    )
    def test_what_is_pickled_at_once_is_refused_at_once(
        self, sc: SparkContext, tmp_path: Path, freeze: str
    ) -> None:
        sc.setCheckpointDir(str(tmp_path))
        lock = threading.Lock()
        rdd = sc.parallelize([(1, 1)]).map(lambda pair: (pair, lock))
        for _ in range(2):
            assert refusal_of(getattr(rdd, freeze)).variable == "lock"
        assert not rdd.is_cached

    def test_transformations_stay_lazy(self, sc: SparkContext) -> None:
        lock = threading.Lock()
        rdd = sc.parallelize([1]).map(lambda x: lock)
        assert rdd.map(str).getNumPartitions() == sc.defaultParallelism

    def test_a_context_made_inside_a_task(self, sc: SparkContext) -> None:
        def make(x: int) -> Any:
            return SparkContext("local[1]", "inner")

        error = failure_of(lambda: sc.parallelize([1]).map(make).collect())
        assert isinstance(error.original, ReferencedInTask)


class CannotBeRebuilt(Exception):
    """Its arguments are not those of its constructor, so pickle can't make it again."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text}")


class TestTravel:
    """Results and exceptions that can't cross to the driver."""

    def test_a_result_that_cannot_be_pickled(self, sc: SparkContext) -> None:
        error = failure_of(lambda: sc.parallelize([1]).map(lambda x: threading.Lock()).collect())
        assert "rows include values of type lock and can't be sent to the driver" in str(error)

    def test_a_row_that_cannot_be_shuffled(self, sc: SparkContext) -> None:
        rdd = sc.parallelize([1, 2]).map(lambda x: (x, threading.Lock())).partitionBy(2)
        error = failure_of(rdd.count)
        assert "lock" in str(error)
        assert "Traceback" in str(error) or "pickle" in str(error)

    def test_a_result_that_cannot_be_unpickled(self, sc: SparkContext) -> None:
        def bomb(x: int) -> Any:
            class Bomb:
                def __reduce__(self) -> Any:
                    return int, ("not a number",)

            return Bomb()

        with pytest.raises(PyriteError, match="not a number"):
            sc.parallelize([1]).map(bomb).collect()

    def test_an_exception_that_cannot_be_rebuilt(self, sc: SparkContext) -> None:
        def fail(x: int) -> None:
            raise CannotBeRebuilt(7, "broken")

        error = failure_of(lambda: sc.parallelize([1]).foreach(fail))
        assert str(error).splitlines()[0].endswith("CannotBeRebuilt: 7: broken")
        assert error.original is None

    def test_an_exception_with_an_attribute_that_cannot_be_pickled(self, sc: SparkContext) -> None:
        def fail(x: int) -> None:
            error = ValueError("with a lock")
            error.lock = threading.Lock()  # type: ignore[attr-defined]
            raise error

        error = failure_of(lambda: sc.parallelize([1]).foreach(fail))
        assert str(error).startswith("ValueError: with a lock\n")

    def test_an_exception_class_of_the_main_module(self, sc: SparkContext) -> None:
        def fail(x: int) -> None:
            class Mine(Exception):
                pass

            raise Mine("local class")

        error = failure_of(lambda: sc.parallelize([1]).foreach(fail))
        assert "Mine: local class" in str(error).splitlines()[0]

    def test_an_exception_whose_text_fails(self, sc: SparkContext) -> None:
        def fail(x: int) -> None:
            class Silent(Exception):
                def __str__(self) -> str:
                    raise RuntimeError("no text")

            raise Silent

        assert "Silent" in str(failure_of(lambda: sc.parallelize([1]).foreach(fail)))


class TestEnds:
    """Exceptions that would end a process."""

    @pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit, GeneratorExit])
    def test_are_failures_of_the_task(self, sc: SparkContext, ending: type) -> None:
        def fail(x: int) -> None:
            raise ending("in a task")

        use_all_executors(sc)
        before = executors(sc)
        error = failure_of(lambda: sc.parallelize([1]).foreach(fail))
        assert ending.__name__ in str(error).splitlines()[0]
        assert executors(sc) == before

    def test_sys_exit(self, sc: SparkContext) -> None:
        error = failure_of(lambda: sc.parallelize([1]).foreach(lambda x: sys.exit(3)))
        assert str(error).startswith("SystemExit: 3\n")

    @pytest.mark.parametrize("kind", ["plain", "generators"])
    def test_endless_recursion(self, sc: SparkContext, kind: str) -> None:
        def recurse(x: int) -> int:
            return recurse(x + 1)

        def nest(x: int) -> Any:
            yield from nest(x + 1)

        function: Any = recurse if kind == "plain" else lambda x: list(nest(x))
        error = failure_of(lambda: sc.parallelize([1]).map(function).collect())
        assert str(error).startswith("RecursionError: ")
        assert len(str(error)) < 20_000


def executors(sc: SparkContext) -> list[int]:
    return [each.id for each in sc._engine.scheduler.fleet]


def use_all_executors(sc: SparkContext) -> None:
    """Returns when all have come: the tasks of a barrier stage need one each."""
    assert sc.parallelize(range(2), 2).barrier().mapPartitions(list).count() == 2
    assert len(executors(sc)) == 2


class Plain:
    """Equal only to itself, so its hash differs between processes."""


class TestKeys:
    def test_an_unhashable_key_is_named(self, sc: SparkContext) -> None:
        error = failure_of(lambda: sc.parallelize([([1], 2)]).partitionBy(2).collect())
        assert "TypeError" in str(error).splitlines()[0]
        assert "list" in str(error)

    def test_an_unhashable_key_of_an_aggregation(self, sc: SparkContext) -> None:
        error = failure_of(lambda: sc.parallelize([([1], 2)]).reduceByKey(max).collect())
        assert "unhashable type: 'list'" in str(error)

    def test_a_key_known_by_identity_is_refused(self, sc: SparkContext) -> None:
        rdd = sc.parallelize([1, 2]).map(lambda x: (Plain(), x))
        error = failure_of(lambda: rdd.reduceByKey(max).collect())
        assert "Plain" in str(error)
        assert "__hash__" in str(error)

    @pytest.mark.parametrize("row", [5, (1,), "ab", None], ids=repr)
    def test_rows_that_are_no_pairs(self, sc: SparkContext, row: Any) -> None:
        rdd = sc.parallelize([row, row], 1)
        if row == "ab":
            assert rdd.reduceByKey(lambda a, b: a + b).collect() == [("a", "bb")]
            return
        error = failure_of(lambda: rdd.reduceByKey(lambda a, b: a).collect())
        assert str(error).startswith(("TypeError", "ValueError", "IndexError"))
        assert "(key, value)" in str(error)
