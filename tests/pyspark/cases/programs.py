"""Whole programs in the style of courses and textbooks: what each prints is its answer."""

import builtins
import itertools
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

from tests.pyspark.api import api
from tests.pyspark.registry import MASTER, Case, add_case

FOLDER = Path(__file__).parents[1] / "programs"
ARGUMENTS = {
    "argv_and_exit": "1 2 3 --scale 2.5",
    "monte_carlo_pi": "3",
    "pagerank": "3",
}
WITH_TABLES = "df_", "stock_prices"
# The others are asked where long tests are: each starts a context of its own.
ALWAYS = {
    "accumulators_as_counters",
    "actions_tour",
    "argv_and_exit",
    "checkpointed_iterations",
    "degrees_of_separation",
    "df_ending_show",
    "errors_caught",
    "globals_and_closures",
    "ids_and_names",
    "movie_similarities",
    "order_after_shuffles",
    "pagerank",
    "text_files_round_trip",
    "word_count",
}


def printed_by(path: Path) -> str:
    """What a program prints, and the code that it ends with, if it says so."""
    out = StringIO()
    if hasattr(api.SparkContext, "_accumulator_ids"):
        # As in a process of its own.
        api.SparkContext._accumulator_ids = itertools.count()
    with as_main(path) as names, redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
        except SystemExit as ending:
            print("exits with", ending.code)
        finally:
            if (left := api.SparkContext._active_spark_context) is not None:
                left.stop()
    return out.getvalue()


@contextmanager
def as_main(path: Path) -> Iterator[dict[str, Any]]:
    """The names of a module `__main__`, in which pyspark is the package under study."""
    module = ModuleType("__main__")
    module.__dict__.update(__builtins__=builtins, __file__=str(path))
    arguments = [str(path), *ARGUMENTS.get(path.stem, "").split()]
    own = sys.modules["__main__"]
    sys.modules["__main__"] = module
    try:
        with patch.object(sys, "argv", arguments), named_pyspark():
            yield module.__dict__
    finally:
        sys.modules["__main__"] = own


@contextmanager
def named_pyspark() -> Iterator[None]:
    """Has programs find Pyrite as pyspark, with the master that record.py gives them."""
    if api.__name__ != "pyrite":
        yield
        return
    from pyrite import alias

    with patch.dict(os.environ, {"PYSPARK_SUBMIT_ARGS": f"--master {MASTER} pyspark-shell"}):
        alias.install()
        try:
            yield
        finally:
            alias.uninstall()


for each in sorted(FOLDER.glob("*.py")):
    kind = "sql_programs" if each.stem.startswith(WITH_TABLES) else "programs"
    name, run = f"{kind}.{each.stem}", partial(printed_by, each)
    add_case(Case(name, (), run, context="none", is_long=each.stem not in ALWAYS))
