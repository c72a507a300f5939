"""The examples in the docstrings run on a real context."""

import doctest
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import pyrite
from pyrite import SparkContext
from pyrite.sql.extra import installed


def examples() -> Iterator[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    for module in pkgutil.walk_packages(pyrite.__path__, "pyrite."):
        if module.name != "pyrite.__main__" and can_be_imported(module.name):
            found = finder.find(importlib.import_module(module.name))
            yield from (test for test in found if test.examples)


def can_be_imported(module: str) -> bool:
    """Whether a module is there: some belong to extras, which need not be installed."""
    if not module.startswith("pyrite.sql.") or installed():
        return True
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


@pytest.fixture(scope="module")
def sc() -> Iterator[SparkContext]:
    """The context of whoever has one already, else one of our own."""
    found = SparkContext._active_spark_context
    context = found or SparkContext("local[2]", "doctests")
    yield context
    if found is None:
        context.stop()


@pytest.mark.parametrize("example", list(examples()), ids=lambda example: example.name)
def test_the_example_runs(
    example: doctest.DocTest, sc: SparkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    example.globs["sc"] = sc
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example)
    assert result.failed == 0
