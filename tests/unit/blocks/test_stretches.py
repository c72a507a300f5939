"""Prefetched segments that share a file: each is freed by itself, the file with the last."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import pytest

from pyrite.blocks import stretches as module
from pyrite.blocks.fetched import STRETCH_ALIGNMENT, Stretch
from pyrite.blocks.segments import Folders
from pyrite.blocks.stretches import Stretches, free_behind, map_stretch
from pyrite.ids import NodeId

SIZE = 100_000
ONE = Stretch("ahead-1", 0, SIZE)
TWO = Stretch("ahead-1", ONE.behind(), SIZE)
OTHER = Stretch("ahead-9", 0, SIZE)


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    (tmp_path / "disk").mkdir()
    return Folders(str(tmp_path), str(tmp_path / "disk"), NodeId("node-0"))


def fill(stretches: Stretches, stretch: Stretch, byte: int) -> None:
    fd = stretches.open(stretch)
    with mmap.mmap(fd, stretch.size_bytes, offset=stretch.offset) as mapped:
        mapped[:] = bytes([byte]) * stretch.size_bytes
    os.close(fd)


def files(folders: Folders) -> list[str]:
    return sorted(each for each in os.listdir(folders.memory) if each != "disk")


def taken(folders: Folders, file: str = "ahead-1") -> int:
    return os.stat(folders.path(file, "memory")).st_blocks * 512


@pytest.mark.parametrize("knows_all", [True, False])
def test_each_is_freed_by_itself_and_the_file_with_the_last(
    folders: Folders, knows_all: bool
) -> None:
    stretches = Stretches(folders, knows_all)
    assert ONE.behind() == 2 * STRETCH_ALIGNMENT
    for name, stretch, byte in [("one", ONE, 1), ("two", TWO, 2), ("other", OTHER, 3)]:
        stretches.add(name, stretch)
        fill(stretches, stretch, byte)
    assert files(folders) == ["ahead-1", "ahead-9"] and 2 * SIZE <= taken(folders) < 3 * SIZE
    stretches.remove(["one", "nobody's"])
    assert files(folders) == ["ahead-1", "ahead-9"] and SIZE <= taken(folders) < 2 * SIZE
    assert not any(map_stretch(folders, ONE))
    assert set(map_stretch(folders, TWO)) == {2}
    stretches.remove(["two", "two"])
    assert files(folders) == ["ahead-9"]
    with pytest.raises(FileNotFoundError):
        map_stretch(folders, TWO)
    stretches.remove(["other"])
    assert files(folders) == [] and not stretches._of and not stretches._count


def test_who_knows_only_some_leaves_the_others(folders: Folders) -> None:
    first, restarted = Stretches(folders, knows_all=False), Stretches(folders, knows_all=False)
    first.add("one", ONE)
    fill(first, ONE, 1)
    restarted.add("two", TWO)
    fill(restarted, TWO, 2)
    restarted.remove(["two"])
    assert set(map_stretch(folders, ONE)) == {1} and taken(folders) < 2 * SIZE


def test_where_nothing_can_be_freed_the_file_goes_with_the_last(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "free_behind", lambda *_: None)
    stretches = Stretches(folders, knows_all=True)
    for name, stretch in [("one", ONE), ("two", TWO)]:
        stretches.add(name, stretch)
        fill(stretches, stretch, 7)
    stretches.remove(["one"])
    assert taken(folders) >= 2 * SIZE
    stretches.remove(["two"])
    assert files(folders) == []


def test_what_was_not_begun_takes_nothing(folders: Folders) -> None:
    stretches = Stretches(folders, knows_all=True)
    stretches.add("two", TWO)
    stretches.add("one", ONE)
    stretches.remove(["two"])
    fill(stretches, ONE, 1)
    stretches.add("again", TWO)
    # The file ends before it.
    stretches.remove(["again"])
    with pytest.raises(FileNotFoundError):
        map_stretch(folders, TWO)
    assert set(map_stretch(folders, ONE)) == {1}


def test_a_reader_keeps_what_it_has_mapped_apart(folders: Folders) -> None:
    stretches = Stretches(folders, knows_all=True)
    for name, stretch, byte in [("one", ONE, 1), ("two", TWO, 2)]:
        stretches.add(name, stretch)
        fill(stretches, stretch, byte)
    mapped = map_stretch(folders, TWO)
    stretches.remove(["one", "two"])
    assert files(folders) == [] and set(mapped) == {2}


def test_pages_behind_the_end_are_freed(folders: Folders) -> None:
    stretches = Stretches(folders, knows_all=True)
    stretches.add("one", ONE)
    fd = stretches.open(ONE)
    mapped = mmap.mmap(fd, SIZE)
    mapped[:5000] = bytes([1]) * 5000
    free_behind(mapped, 5000)
    os.close(fd)
    assert taken(folders) == 2 * mmap.PAGESIZE
    assert set(mapped[:5000]) == {1}
    free_behind(mapped, SIZE)
