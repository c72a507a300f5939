"""Programs catch Pyrite's errors by PySpark's classes and conditions."""

import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from pyrite import alias, errors, pysparkerrors
from pyrite.errors import BadValue, ReferencedInTask, TaskFailed
from pyrite.py4j import Py4JError, Py4JJavaError
from pyrite.pysparkerrors import PySparkException, PySparkKeyError, PySparkRuntimeError


@pytest.fixture
def pyspark_is_pyrite() -> Iterator[None]:
    alias.install()
    yield
    alias.uninstall()


def failed_task() -> TaskFailed:
    return TaskFailed("KeyError: 'user'", stage=1, partition=2, attempts=1)


def test_a_condition_stands_before_the_message() -> None:
    error = PySparkKeyError("no such key", "MISSING_KEY", {"key": "a"})
    assert str(error) == error.getMessage() == "[MISSING_KEY] no such key"
    assert (error.getCondition(), error.getMessageParameters()) == ("MISSING_KEY", {"key": "a"})
    assert (error.getSqlState(), error.getQueryContext()) == (None, [])
    with pytest.warns(FutureWarning):
        assert error.getErrorClass() == "MISSING_KEY"


def test_an_error_without_condition_shows_its_message() -> None:
    assert str(PySparkException("just so")) == "just so"


def test_an_error_of_a_program_may_have_a_condition_alone() -> None:
    error = PySparkException(errorClass="TOO_OLD", messageParameters={"age": "3"})
    assert str(error) == "[TOO_OLD] age: 3"


EXCEPTIONS = [
    name for name in pysparkerrors.__all__ if issubclass(getattr(pysparkerrors, name), Exception)
]


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_every_class_is_in_pysparks_module_and_survives_pickle(name: str) -> None:
    kind = getattr(errors, name)
    copy = pickle.loads(pickle.dumps(kind("words", "CONDITION", {})))
    assert (type(copy), str(copy), copy.getCondition()) == (kind, "[CONDITION] words", "CONDITION")


def test_a_program_gives_the_part_of_a_query_that_is_to_blame(pyspark_is_pyrite: None) -> None:
    names: dict[str, Any] = {}
    exec("from pyspark.errors import QueryContext, QueryContextType", names)
    told = {"contextType", "objectType", "objectName", "startIndex", "stopIndex", "fragment"}
    assert names["QueryContext"].__abstractmethods__ == told | {"callSite", "summary"}
    here = type("Here", (names["QueryContext"],), dict.fromkeys(told | {"callSite", "summary"}))()
    assert PySparkException("no", contexts=[here]).getQueryContext() == [here]
    assert [each.name for each in names["QueryContextType"]] == ["SQL", "DataFrame"]


def test_our_own_errors_keep_their_condition_through_pickle() -> None:
    error = ReferencedInTask("SparkContext", "Don't.", "CONTEXT_ONLY_VALID_ON_DRIVER")
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error)
    assert isinstance(copy, PySparkRuntimeError)
    assert (copy.getCondition(), copy.cure) == ("CONTEXT_ONLY_VALID_ON_DRIVER", "Don't.")


def test_a_failed_task_is_of_the_jvm_and_not_of_pysparks_python() -> None:
    assert isinstance(failed_task(), Py4JJavaError)
    assert not isinstance(failed_task(), PySparkException)
    assert isinstance(BadValue("no"), ValueError | Py4JError)


def test_there_is_no_java_exception_and_it_says_why() -> None:
    error = failed_task()
    assert error.errmsg == str(error) == "KeyError: 'user'"
    assert not hasattr(error, "java_exception")
    with pytest.raises(AttributeError, match=r"no JVM.*error\.original"):
        _ = error.java_exception


def test_the_modules_that_programs_take_them_from(pyspark_is_pyrite: None) -> None:
    names: dict[str, object] = {}
    exec(
        "import py4j.protocol\n"
        "from py4j.protocol import Py4JJavaError, Py4JError, Py4JNetworkError\n"
        "from pyspark.errors import PySparkRuntimeError\n"
        "from pyspark.errors.exceptions.base import PySparkValueError\n"
        "from pyspark.sql.utils import AnalysisException\n"
        "same = py4j.protocol.Py4JJavaError is Py4JJavaError\n",
        names,
    )
    assert names["same"] is True
    assert names["Py4JJavaError"] is Py4JJavaError
    assert names["PySparkRuntimeError"] is PySparkRuntimeError


def test_the_rest_of_py4j_is_missing_by_name(pyspark_is_pyrite: None) -> None:
    with pytest.raises(ModuleNotFoundError, match="Spark's bridge to the JVM"):
        exec("from py4j.java_gateway import JavaGateway", {})
