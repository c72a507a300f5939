"""The page on PySpark tells what became of each of its names, and tells the truth."""

import pytest
from tests.pyspark import nametable
from tests.pyspark.recordnames import read_names


def test_the_page_has_the_table_that_the_script_gives() -> None:
    page = nametable.PAGE.read_text(encoding="utf-8")
    assert nametable.with_table(page) == page, "run python -m tests.pyspark.nametable"


def test_every_module_of_the_core_is_there_or_explained() -> None:
    shown = nametable.table()
    for module in read_names():
        assert f"| **{module.removeprefix('pyspark.')}** |" in shown


@pytest.mark.parametrize("table", [nametable.MISSING, nametable.REFUSED, nametable.DIFFERS])
def test_every_explanation_is_of_a_name(table: dict[str, dict[str, str]]) -> None:
    recorded = read_names()
    for owner, reasons in table.items():
        module, _, kind = owner.rpartition(".") if owner not in recorded else (owner, "", "")
        known = set(recorded[module]) if not kind else set()
        for name, members in recorded[module].items() if kind else ():
            known |= set(members) if kind in (name, "*") else set()
        for names in reasons:
            assert set(names.split()) <= known, owner


def test_a_name_that_nothing_explains_is_an_error() -> None:
    with pytest.raises(AssertionError, match="nothing says why"):
        list(nametable.rows_of("pyspark.conf", object(), ["NoSuchName"]))
    with pytest.raises(AssertionError, match="PythonEvalType is there"):
        found = type("module", (), {"PythonEvalType": 1})
        list(nametable.rows_of("pyspark.util", found, ["PythonEvalType"]))
