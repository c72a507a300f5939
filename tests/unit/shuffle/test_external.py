"""Mergers and sorters by PySpark's names: what is beyond their limit is on disk meanwhile."""

from functools import partial
from itertools import count
from pathlib import Path

import pytest

from pyrite.bounded import space
from pyrite.bounded.space import Space
from pyrite.bounded.spill import SpillWriter
from pyrite.shuffle import Aggregator, ExternalMerger, ExternalSorter, external, get_used_memory

LISTS = Aggregator(lambda v: [v], lambda c, v: [*c, v], lambda c, d: c + d)


@pytest.fixture
def spilled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders to which rows were moved; memory seems to grow with every look at it."""
    found = []
    write = SpillWriter.write

    def told(self, bucket, rows):
        found.append(self._space.folder)
        write(self, bucket, rows)

    monkeypatch.setattr(SpillWriter, "write", told)
    growing = count(0, 64 << 10).__next__
    monkeypatch.setattr(external, "Space", partial(Space, measure=growing))
    # At every look this would take as long as the tests before have left objects.
    monkeypatch.setattr(space, "return_freed_memory", bool)
    monkeypatch.setattr(space.gc, "collect", int)
    return found


def rows():
    return ((number % 3000, str(number)) for number in range(6000))


def test_a_merger_moves_rows_to_its_folder(tmp_path: Path, spilled: list[str]) -> None:
    merger = ExternalMerger(LISTS, 1, localdirs=[str(tmp_path)])
    merger.mergeValues(rows())
    assert set(spilled) == {str(tmp_path)} and list(tmp_path.iterdir()) == []
    merger.mergeCombiners((key, [value]) for key, value in rows())
    for _ in range(2):
        found = dict(merger.items())
        assert (len(found), found[7]) == (3000, ["7", "3007", "7", "3007"])
        assert list(tmp_path.iterdir()) == []


def test_items_may_be_left_in_the_middle(tmp_path: Path, spilled: list[str]) -> None:
    merger = ExternalMerger(LISTS, 1, localdirs=[str(tmp_path)])
    merger.mergeValues(rows())
    items = merger.items()
    next(items)
    items.close()
    assert spilled and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("reverse", [False, True])
def test_a_sorter_moves_rows_to_sparks_folder(
    tmp_path: Path, spilled: list[str], monkeypatch: pytest.MonkeyPatch, reverse: bool
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/nowhere")
    made = ExternalSorter(1).sorted(rows(), key=lambda row: row[0], reverse=reverse)
    assert set(spilled) == {str(tmp_path)} and list(tmp_path.iterdir()) == []
    assert list(made) == sorted(rows(), key=lambda row: row[0], reverse=reverse)


def test_all_stays_in_memory_below_the_limit(spilled: list[str]) -> None:
    limit = 1 << 20
    merger = ExternalMerger(LISTS, limit)
    merger.mergeValues(rows())
    assert [key for key, _ in merger.items()] == list(range(3000))
    assert type(ExternalSorter(limit).sorted(rows())) is list
    assert spilled == []


def test_rows_that_fail_leave_no_file(tmp_path: Path, spilled: list[str]) -> None:
    def failing():
        yield from rows()
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        ExternalMerger(LISTS, 1, localdirs=[str(tmp_path)]).mergeValues(failing())
    assert spilled and list(tmp_path.iterdir()) == []


def test_memory_is_counted_in_mebibytes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert get_used_memory() > 0
    monkeypatch.setattr(external, "private_bytes", lambda: 5 << 20)
    assert get_used_memory() == 5
