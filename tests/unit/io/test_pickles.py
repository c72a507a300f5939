from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyrite.io import splits
from pyrite.io.errors import CorruptInput, InputChanged
from pyrite.io.pickles import read_rows, write_rows
from pyrite.io.splits import Split, pickle_splits


def read(path: Path | str) -> list[Any]:
    parts = pickle_splits(str(path), 1)
    return [row for part in parts for split in part for row in read_rows(split)]


@pytest.mark.parametrize(
    "rows",
    [[], [None], list(range(10_000)), [("a", {1: [2.5]}), b"x" * 3_000_000, {1, 2}, "\ud800"]],
)
def test_rows_come_back(tmp_path: Path, rows: list[Any]) -> None:
    write_rows(str(tmp_path / "part"), iter(rows))
    assert read(tmp_path / "part") == rows


def test_rows_in_another_storage() -> None:
    write_rows("memory://pickles/part", [1, 2])
    assert read("memory://pickles") == [1, 2]


@pytest.mark.parametrize("piece_bytes", [1, 100, 500])
def test_each_frame_is_read_once_wherever_a_file_is_cut(tmp_path: Path, piece_bytes: int) -> None:
    path = tmp_path / "part"
    rows = [f"row {i}" * (i % 5) for i in range(60)]
    write_rows(str(path), rows)
    size = path.stat().st_size
    pieces = [
        Split(str(path), start, min(piece_bytes, size - start))
        for start in range(0, size, piece_bytes)
    ]
    assert [row for piece in pieces for row in read_rows(piece)] == rows


def test_large_files_are_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splits, "PICKLE_MIN_BYTES", 1000)
    write_rows(str(tmp_path / "part"), range(5000))
    parts = pickle_splits(str(tmp_path), 4)
    assert len(parts) == 4
    assert [row for (split,) in parts for row in read_rows(split)] == list(range(5000))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"plain text", "was not written by Pyrite's saveAsPickleFile$"),
        (b"PY", "was not written by Pyrite's"),
        (b"SEQ\x06 and so on", "Hadoop sequence file"),
    ],
)
def test_foreign_files_are_named(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "part").write_bytes(content)
    with pytest.raises(CorruptInput, match=f"file:{tmp_path}/part.*{message}"):
        read(tmp_path / "part")


@pytest.mark.parametrize("cut_bytes", [1, 8, 30])
def test_a_file_that_was_cut_is_named(tmp_path: Path, cut_bytes: int) -> None:
    path = tmp_path / "part"
    write_rows(str(path), ["abc"] * 10)
    # The split was computed while the file was complete.
    split = Split(str(path), 0, path.stat().st_size)
    path.write_bytes(path.read_bytes()[:-cut_bytes])
    with pytest.raises(CorruptInput, match="is damaged at byte"):
        list(read_rows(split))


def test_a_flipped_bit_is_named(tmp_path: Path) -> None:
    path = tmp_path / "part"
    write_rows(str(path), ["abcdefgh" * 100])
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(CorruptInput, match="is damaged at byte 8"):
        read(path)


def test_a_file_that_was_replaced_by_a_longer_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "part"
    write_rows(str(path), range(10))
    ((split,),) = pickle_splits(str(path), 1)
    had = path.stat().st_size
    write_rows(str(path), range(10_000))
    told = f"file:.*/part had {had} bytes .* and has {path.stat().st_size} now"
    with pytest.raises(InputChanged, match=told):
        list(read_rows(split))
