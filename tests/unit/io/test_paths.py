"""Expected values were taken from PySpark 4, but for the order in a folder, which is by name."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyrite.io.errors import (
    BadPath,
    InputMissing,
    InputUnreadable,
    NestedFolder,
    PackageMissing,
)
from pyrite.io.filesystem import LocalStorage, locate
from pyrite.io.globs import expand_folders, split_outside_braces
from pyrite.io.paths import InputFile, expand

NAMES = ("ga1", "ga2", "gb1", "gc", "g{x}", "g[y]", "g-1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / name).write_text(name)
    return tmp_path


def names(argument: str | Path, *, skip_folders: bool = False) -> list[str]:
    found = expand(str(argument), skip_folders=skip_folders)
    return [file.path.rpartition("/")[2] for file in found]


def write(path: Path, content: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("g?1", ["g-1", "ga1", "gb1"]),
        ("g[ab]1", ["ga1", "gb1"]),
        ("g[a-b]1", ["ga1", "gb1"]),
        ("g[^a]1", ["g-1", "gb1"]),
        ("g[!a]1", ["g-1", "gb1"]),
        ("{ga1,gc}", ["ga1", "gc"]),
        ("{ga*,gc}", ["ga1", "ga2", "gc"]),
        ("g{a1,b1,c}", ["ga1", "gb1", "gc"]),
        ("{g{a1,a2},gc}", ["ga1", "ga2", "gc"]),
        ("g\\[y\\]", ["g[y]"]),
        ("g\\{x\\}", ["g{x}"]),
        ("{ga1}", ["ga1"]),
        ("g{a1,}", ["ga1"]),
        ("{ga1,gc}*", ["ga1", "gc"]),
        ("g[\\-]1", ["g-1"]),
        ("g[-x]1", ["g-1"]),
        ("ga**", ["ga1", "ga2"]),
    ],
)
def test_patterns(folder: Path, pattern: str, expected: list[str]) -> None:
    assert names(folder / pattern) == expected


@pytest.mark.parametrize("pattern", ["nope*", "g[y]", "g{x}", "g{}", "nope/*", "ga1/*"])
def test_a_pattern_without_a_match_is_named(folder: Path, pattern: str) -> None:
    with pytest.raises(InputMissing) as caught:
        expand(f"{folder}/{pattern}")
    assert str(caught.value) == f"Input Pattern file:{folder}/{pattern} matches 0 files"


@pytest.mark.parametrize("pattern", ["ga[1", "g{a1", "[", "x\\", "x[]"])
def test_an_illegal_pattern_is_named(folder: Path, pattern: str) -> None:
    with pytest.raises(BadPath, match="Illegal file pattern") as caught:
        expand(f"{folder}/{pattern}")
    assert pattern in str(caught.value)


def test_commas_separate_paths_in_the_order_given(folder: Path) -> None:
    assert names(f"{folder}/gc,{folder}/ga1,{folder}/gc") == ["gc", "ga1", "gc"]
    assert split_outside_braces("a,{b,{c,d}},e") == ["a", "{b,{c,d}}", "e"]


def test_an_empty_path_between_commas_is_refused(folder: Path) -> None:
    for argument in ("", f"{folder}/gc,,{folder}/gc"):
        with pytest.raises(BadPath, match="empty"):
            expand(argument)


def test_braces_may_reach_across_folders(tmp_path: Path) -> None:
    write(tmp_path / "dir/a.txt")
    write(tmp_path / "nest/sub/y")
    assert names(f"{tmp_path}/{{nest/sub,dir}}/[ya]*") == ["a.txt", "y"]
    assert expand_folders("{a/{b,c},d}/e") == ["a/{b,c}/e", "d/e"]
    assert names(f"{tmp_path}/{{dir/a.txt,dir/*}}") == ["a.txt", "a.txt"]


def test_sizes_and_absolute_paths(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    expected = [InputFile(f"{folder}/ga1", 3)]
    assert expand("ga1") == expand(f"{folder}/./x/..//ga1") == expected


@pytest.mark.parametrize("prefix", ["", "file:", "file://", "file:///", "file://localhost"])
def test_prefixes_of_local_paths(folder: Path, prefix: str) -> None:
    assert [file.path for file in expand(f"{prefix}{folder}/ga1")] == [f"{folder}/ga1"]


def test_another_host_is_refused() -> None:
    with pytest.raises(BadPath, match="'elsewhere'"):
        expand("file://elsewhere/x")


def test_a_folder_gives_its_visible_files_by_name(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "_SUCCESS", ".part.crc", "B.txt", "10", "9", "_meta/x"):
        write(tmp_path / "dir" / name)
    expected = ["10", "9", "B.txt", "a.txt", "b.txt"]
    assert names(tmp_path / "dir") == names(f"{tmp_path}/dir/") == expected
    assert names(tmp_path / "dir/*") == expected


def test_hidden_names_count_in_the_last_place_only(tmp_path: Path) -> None:
    for name in ("_sub/y", ".dot/y", "z/y"):
        write(tmp_path / name)
    assert names(tmp_path / "_sub/y") == ["y"]
    assert names(tmp_path / "*/y") == ["y", "y", "y"]
    assert names(tmp_path / "*") == ["y"]
    with pytest.raises(InputMissing, match="hidden"):
        expand(f"{tmp_path}/_sub")


def test_folders_without_visible_files_are_no_error(tmp_path: Path) -> None:
    write(tmp_path / "done/_SUCCESS")
    assert expand(f"{tmp_path}/done") == []


def test_a_nested_folder_is_named_or_skipped(tmp_path: Path) -> None:
    write(tmp_path / "nest/x")
    write(tmp_path / "nest/sub/y")
    with pytest.raises(NestedFolder, match=r"Path: file:.*/nest/sub is a directory.*/nest/\*"):
        expand(f"{tmp_path}/nest")
    assert names(tmp_path / "nest", skip_folders=True) == ["x"]
    assert names(tmp_path / "nest/*") == ["y", "x"]


def test_a_dangling_link_in_a_folder_is_left_out(tmp_path: Path) -> None:
    write(tmp_path / "dir/x")
    (tmp_path / "dir/gone").symlink_to(tmp_path / "nowhere")
    assert names(tmp_path / "dir") == ["x"]


def test_a_missing_path_is_named(tmp_path: Path) -> None:
    here = write(tmp_path / "here")
    with pytest.raises(FileNotFoundError) as caught:
        expand(f"{here},{tmp_path}/gone,{tmp_path}/gone2")
    assert str(caught.value) == f"Input path does not exist: file:{tmp_path}/gone"
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (type(copy), str(copy), copy.path) == (
        InputMissing,
        str(caught.value),
        f"{tmp_path}/gone",
    )


def test_an_unreadable_file_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: not path.endswith("gb1"))
    with pytest.raises(InputUnreadable, match=r"Permission denied.*/gb1"):
        expand(f"{folder}/g*1")


def test_an_unreadable_folder_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(storage: LocalStorage, path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(LocalStorage, "children", refuse)
    with pytest.raises(InputUnreadable, match=f"the input folder file:{folder}"):
        expand(str(folder))


@pytest.fixture
def memory() -> Iterator[str]:
    import fsspec

    filesystem = fsspec.filesystem("memory")
    for name in ("b", "a", "_hidden", "sub/c"):
        filesystem.pipe(f"/paths/{name}", b"12345")
    yield "memory://paths"
    filesystem.rm("/paths", recursive=True)


def test_other_storages_through_fsspec(memory: str) -> None:
    assert expand(f"{memory}/b") == [InputFile("memory://paths/b", 5)]
    assert names(memory, skip_folders=True) == ["a", "b"]
    assert names(f"{memory}/[b-z]*") == ["b", "c"]
    assert names(f"{memory}/{{a,sub/c}}") == ["a", "c"]
    with pytest.raises(NestedFolder, match="memory://paths/sub"):
        expand(memory)
    with pytest.raises(InputMissing, match="Input path does not exist: memory://paths/zz"):
        expand(f"{memory}/zz")
    with pytest.raises(InputMissing, match=r"Input Pattern memory://paths/z\* matches 0"):
        expand(f"{memory}/z*")


def test_an_address_leads_back_to_its_file(memory: str) -> None:
    (file,) = expand(f"{memory}/a")
    storage, path = locate(file.path)
    with storage.open_read(path) as stream:
        assert stream.read() == b"12345"


def test_a_missing_plugin_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from fsspec.registry import known_implementations

    entry = {"class": "zorkfs.Zork", "err": "Install zorkfs"}
    monkeypatch.setitem(known_implementations, "zork", entry)
    with pytest.raises(PackageMissing, match=r"zork:// needs a package.*pip install zorkfs"):
        expand("zork://bucket/x")


def test_an_unknown_scheme_is_named() -> None:
    with pytest.raises(BadPath, match="no file system is known for zork://"):
        expand("zork://bucket/x")


def test_local_paths_need_no_fsspec(folder: Path) -> None:
    program = (
        "import sys; from pyrite.io.splits import text_splits; from pyrite.io.text import *;"
        f"print([*read_lines(text_splits({str(folder)!r}, 1)[0][0])], 'fsspec' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "['g-1'] False\n"
