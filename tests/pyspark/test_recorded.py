"""Pyrite gives the answers that were recorded from PySpark."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.pyspark.api import api
from tests.pyspark.encoding import Raised, agrees, encode
from tests.pyspark.methods import REQUIRED
from tests.pyspark.record import read_recorded
from tests.pyspark.registry import APP_NAME, MASTER, Case, Contexts, all_cases

CASES = all_cases()
RECORDED_RESULTS = read_recorded()


def make_context(conf: Mapping[str, str]) -> Any:
    return api.SparkContext(MASTER, APP_NAME, conf=api.SparkConf().setAll(list(conf.items())))


@pytest.fixture(scope="module")
def contexts() -> Iterator[Contexts]:
    held = Contexts(make_context)
    yield held
    held.close()


# Where Pyrite differs from PySpark by decision; each says why.
DIFFERENCES = {
    "storage.cached_rows_are_not_changed_by_tasks": (
        "MEMORY_ONLY keeps live rows, for speed: a task that changes a cached row in place changes "
        "the cache. pyrite.cache.liveRows=false or StorageLevel.OFF_HEAP keep encoded rows."
    ),
    "freezing.a_child_made_before_its_parent_is_cached": (
        "A child reads what is kept of its parent, even if that was persisted after the child was "
        "made, and so the version that is kept; PySpark computes the parent anew."
    ),
    "freezing.asking_freezes": (
        "To ask an RDD for its id, name, lineage or storage level changes nothing. In PySpark it "
        "pickles the RDD's functions, and raises where they can't be."
    ),
}


def parameter(chosen: Case) -> Any:
    reason = DIFFERENCES.get(chosen.name)
    marks = [] if reason is None else [pytest.mark.xfail(strict=True, reason=reason)]
    return pytest.param(chosen, id=chosen.name, marks=marks)


@pytest.mark.parametrize("chosen", [parameter(each) for each in CASES])
def test_the_answer_is_the_one_recorded(chosen: Case, contexts: Contexts, tmp_path: Path) -> None:
    found = contexts.run(chosen, tmp_path)
    recorded = RECORDED_RESULTS[chosen.name]
    if not agrees(recorded, found):
        assert found == recorded


def test_every_method_has_a_case() -> None:
    covered = {method for each in CASES for method in each.methods}
    assert [name for name in REQUIRED if name not in covered] == []


def test_every_case_is_recorded_and_every_record_has_a_case() -> None:
    assert sorted(each.name for each in CASES) == sorted(RECORDED_RESULTS)


def test_an_error_agrees_by_moment_and_class() -> None:
    value_error = str(Raised.from_error("call", UnicodeError()))
    assert agrees("<raises at call: ValueError>", value_error)
    assert agrees("[1, <raises at call: error>]", f"[1, {value_error}]")
    assert not agrees("<raises at action: ValueError>", value_error)
    assert not agrees("<raises at call: TypeError>", value_error)
    assert not agrees("<raises at call: ValueError>", "[1]")


def test_the_encoding_keeps_types_apart() -> None:
    values = [1, 1.0, True, "1", b"1", (1,), [1], {1}, frozenset([1]), {1: 1}, None]
    assert len({encode(value) for value in values}) == len(values)
