"""Cases about tables: what a program prints is its answer."""

from collections.abc import Callable
from contextlib import redirect_stdout
from functools import wraps
from io import StringIO
from typing import Any

from tests.pyspark.api import submodule
from tests.pyspark.registry import case

# What needs the extra: cases in modules of such names are skipped where it is not installed.
OF_TABLES = "sql_"


def session(sc: Any) -> Any:
    """A session over the context, whose shuffles are small."""
    spark = submodule("sql").SparkSession.builder.getOrCreate()
    assert spark.sparkContext is sc
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    return spark


def functions() -> Any:
    return submodule("sql.functions")


def prints(*methods: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a program that is given a session, and answers with what it prints."""

    def register(program: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(program)
        def run(sc: Any, **given: Any) -> str:
            out = StringIO()
            with redirect_stdout(out):
                program(session(sc), **given)
            return out.getvalue()

        return case(*methods)(run)

    return register


def print_error(call: Callable[[], Any]) -> None:
    """Prints the class and the name of the error that a call raises, or that it raises none."""
    try:
        call()
    except Exception as error:
        condition = getattr(error, "getCondition", lambda: None)()
        print(type(error).__name__, condition)
    else:
        print("no error")
