"""What masters.py says of the tests beside it is said of tests that there are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from adapters import ADAPTERS, RETRYING
from masters import FEWER, Fewer, fewer

FOLDER = Path(__file__).parent


def names() -> Iterator[str]:
    """Every test of the folder, by module, class and function."""
    for path in sorted(FOLDER.glob("test_*.py")):
        for node in ast.parse(path.read_text()).body:
            for each in node.body if isinstance(node, ast.ClassDef) else [node]:
                if isinstance(each, ast.FunctionDef) and each.name.startswith("test_"):
                    outer = [node.name] if isinstance(node, ast.ClassDef) else []
                    yield "::".join([path.stem, *outer, each.name])


def test_each_entry_is_about_some_test() -> None:
    used = {id(found) for name in names() if (found := fewer(name)) is not None}
    assert [key for key, found in FEWER.items() if id(found) not in used] == []


@pytest.mark.parametrize("key", FEWER)
def test_an_entry_names_masters_and_a_reason(key: str) -> None:
    found = FEWER[key]
    assert found.why and set(found.masters) <= {*ADAPTERS, *RETRYING}
    # Those that tests name themselves stand in their module; the fixture's own is local[2].
    text = (FOLDER / f"{key.partition('::')[0]}.py").read_text()
    if found.own:
        assert [each for each in found.masters if each != "local" and each not in text] == []


def test_the_longest_key_counts() -> None:
    whole = fewer("test_deaths::test_replicated_rows_survive_an_executor")
    part = fewer("test_deaths::TestMemory::test_exhausted_by_many_small_objects[str]")
    assert isinstance(whole, Fewer) and isinstance(part, Fewer)
    assert len(whole.masters) == 3 and part.masters == ("local",)
    assert fewer("test_files::test_whatever") is None
