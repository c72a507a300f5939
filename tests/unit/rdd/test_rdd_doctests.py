"""The examples in the docstrings run, and every public method has one."""

import doctest
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from plain import PlainContext

import pyrite.rdd
from pyrite.rdd import RDD


def modules() -> list[str]:
    return [f"pyrite.rdd.{each.name}" for each in pkgutil.iter_modules(pyrite.rdd.__path__)]


def examples() -> Iterator[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in modules():
        yield from finder.find(importlib.import_module(name))


@pytest.mark.parametrize("example", list(examples()), ids=lambda example: example.name)
def test_the_example_runs(
    example: doctest.DocTest, sc: PlainContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    example.globs["sc"] = sc
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example)
    assert result.failed == 0


def test_every_public_method_is_described() -> None:
    public = [name for name in dir(RDD) if not name.startswith("_")]
    assert [name for name in public if not inspect.getdoc(getattr(RDD, name))] == []
