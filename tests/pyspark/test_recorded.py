"""Pyrite gives the answers that were recorded from PySpark."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from machine_mode import machine_settings
from tests.pyspark.api import api
from tests.pyspark.differences import DIFFERENCES
from tests.pyspark.encoding import encode, shortened
from tests.pyspark.methods import REQUIRED
from tests.pyspark.printing import OF_TABLES
from tests.pyspark.raised import Raised, agrees
from tests.pyspark.record import read_recorded
from tests.pyspark.registry import APP_NAME, MASTER, Case, Contexts, all_cases

from pyrite.sql.extra import installed

CASES = all_cases()
RECORDED_RESULTS = read_recorded()


def make_context(conf: Mapping[str, str]) -> Any:
    chosen = machine_settings() | dict(conf)
    return api.SparkContext(MASTER, APP_NAME, conf=api.SparkConf().setAll(list(chosen.items())))


@pytest.fixture(scope="module")
def contexts() -> Iterator[Contexts]:
    held = Contexts(make_context)
    yield held
    held.close()


def parameter(chosen: Case) -> Any:
    reason = DIFFERENCES.get(chosen.name)
    marks = [] if reason is None else [pytest.mark.xfail(strict=True, reason=reason)]
    if chosen.is_long:
        marks.append(pytest.mark.long)
    if chosen.name.startswith(OF_TABLES) and not installed():
        marks.append(pytest.mark.skip(reason="pyrite[sql] is not installed"))
    return pytest.param(chosen, id=chosen.name, marks=marks)


@pytest.mark.parametrize("chosen", [parameter(each) for each in CASES])
def test_the_answer_is_the_one_recorded(chosen: Case, contexts: Contexts) -> None:
    found = contexts.run(chosen)
    recorded = RECORDED_RESULTS[chosen.name]
    if not agrees(recorded, found):
        assert found == recorded


def test_every_method_has_a_case() -> None:
    covered = {method for each in CASES for method in each.methods}
    assert [name for name in REQUIRED if name not in covered] == []


def test_every_case_is_recorded_and_every_record_has_a_case() -> None:
    assert sorted(each.name for each in CASES) == sorted(RECORDED_RESULTS)


def test_every_difference_is_a_case() -> None:
    assert sorted(DIFFERENCES.keys() - {each.name for each in CASES}) == []


def test_an_error_agrees_by_moment_and_class() -> None:
    value_error = str(Raised.from_error("call", UnicodeError()))
    assert agrees("<raises at call: ValueError>", value_error)
    assert agrees("[1, <raises at call: error>]", f"[1, {value_error}]")
    assert not agrees("<raises at action: ValueError>", value_error)
    assert not agrees("<raises at call: TypeError>", value_error)
    assert not agrees("<raises at call: ValueError>", "[1]")
    assert agrees("<raises at call: error>", "<raises at call: Oops 'one'>")
    assert not agrees("<raises at call: Oops 'one'>", "<raises at call: Oops 'other'>")


def test_an_error_of_a_task_is_found_in_the_words_of_the_jvm() -> None:
    class Py4JJavaError(Exception):
        """Named as PySpark's is."""

    lines = [
        "An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.",
        ": org.apache.spark.api.python.PythonException: Traceback (most recent call last):",
        '  File "worker.py", line 1, in process',
        "KeyError: 1",
        "",
        "During handling of the above exception, another exception occurred:",
        "",
        "Traceback (most recent call last):",
        '  File "program.py", line 1, in <lambda>',
        "    oops()",
        "tests.pyspark.raised.Oops: here",
        " SQLSTATE: 38000",
        "\tat org.apache.spark.api.python.BasePythonRunner.handlePythonException",
    ]
    found = str(Raised.from_error("call", Py4JJavaError("\n".join(lines))))
    assert found == "<raises at call: Oops 'here'>"
    assert str(Raised.from_error("call", Py4JJavaError("of the JVM"))) == "<raises at call: error>"


def test_a_cycle_has_an_end() -> None:
    row: list[Any] = [1]
    row.append(row)
    assert encode(row) == "[1, <itself>]"


def test_a_long_answer_is_recorded_by_its_digest() -> None:
    same, other = "x" * 2000, "x" * 1999 + "y"
    assert len(shortened(same)) < 600
    assert shortened(same) != shortened(other)
    assert shortened("short") == "short"


def test_the_encoding_keeps_types_apart() -> None:
    values = [1, 1.0, True, "1", b"1", (1,), [1], {1}, frozenset([1]), {1: 1}, None]
    assert len({encode(value) for value in values}) == len(values)
