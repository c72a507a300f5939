"""Bzip2 files are read by several splits, each row once."""

from __future__ import annotations

import bz2
from itertools import pairwise
from pathlib import Path
from random import Random
from string import ascii_letters

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrite.io import bzip2
from pyrite.io.bzip2 import Mark
from pyrite.io.errors import CorruptInput, InputChanged
from pyrite.io.splits import Split, text_splits
from pyrite.io.text import read_lines

# What a block of the smallest kind holds, where no byte comes four times in a row.
BLOCK_BYTES = 100_000 - 19


def noise(count: int, seed: int = 0) -> bytes:
    """Letters that bzip2 takes one by one, and hardly shortens."""
    return "".join(Random(seed).choices(ascii_letters, k=count)).encode()


def lines(count: int, longest: int, seed: int = 0) -> bytes:
    random = Random(seed)
    text = noise(count * longest, seed)
    return b"".join(
        text[i * longest : i * longest + random.randrange(longest)] + b"\n" for i in range(count)
    )


def packed(folder: Path, *streams: bytes) -> Path:
    path = folder / "x.bz2"
    path.write_bytes(b"".join(bz2.compress(stream, 1) for stream in streams))
    return path


def partitions(path: Path, count: int) -> list[list[bytes]]:
    return [
        [line for split in partition for line in read_lines(split, use_unicode=False)]
        for partition in text_splits(str(path), count)
    ]


def check(path: Path, content: bytes, counts: list[int]) -> None:
    expected = content.splitlines()
    for count in counts:
        found = partitions(path, count)
        assert len(found) >= count
        assert [line for partition in found for line in partition] == expected


@pytest.mark.parametrize("longest", [1, 20, 3_000, 150_000])
def test_each_line_is_read_once(tmp_path: Path, longest: int) -> None:
    content = lines(900_000 // longest, longest)
    check(packed(tmp_path, content), content, [2, 3, 7, 40])


def test_several_partitions_have_rows(tmp_path: Path) -> None:
    path = packed(tmp_path, lines(20_000, 50))
    assert all(partitions(path, 4))


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
@pytest.mark.parametrize("shift", [-2, -1, 0, 1])
def test_lines_that_end_where_a_block_does(tmp_path: Path, end: bytes, shift: int) -> None:
    text = noise(3 * BLOCK_BYTES)
    at = BLOCK_BYTES + shift
    content = text[:at] + end + text[at : at + 500] + end + text[at + 500 : 250_000] + end
    path = packed(tmp_path, content)
    check(path, content, [2, 3, 10])
    size = path.stat().st_size
    for cut in range(size // 3, size // 3 + 400, 57):
        splits = [Split(str(path), 0, cut), Split(str(path), cut, size - cut)]
        found = [line for each in splits for line in read_lines(each, use_unicode=False)]
        assert found == content.splitlines()


def test_streams_one_after_another(tmp_path: Path) -> None:
    streams = [lines(5_000, 40, seed) for seed in range(4)]
    # Also empty ones, and a line that two of them share.
    streams[2:2] = [b"", b"shared by "]
    check(packed(tmp_path, *streams), b"".join(streams), [2, 5, 30])


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.lists(st.integers(1, 90_000), max_size=5))
def test_wherever_it_is_cut(
    tmp_path_factory: pytest.TempPathFactory, seed: int, cuts: list[int]
) -> None:
    content = lines(4_000, 60, seed)
    path = packed(tmp_path_factory.mktemp("cut"), content[:70_000], content[70_000:])
    size = path.stat().st_size
    edges = sorted({0, size, *(cut % size for cut in cuts)})
    splits = [Split(str(path), start, end - start) for start, end in pairwise(edges)]
    found = [line for split in splits for line in read_lines(split, use_unicode=False)]
    assert found == content.splitlines()


def test_a_tiny_file_in_tiny_splits(tmp_path: Path) -> None:
    path = packed(tmp_path, b"a\nb\n")
    size = path.stat().st_size
    splits = [Split(str(path), start, 1) for start in range(size)]
    found = [list(read_lines(split)) for split in splits]
    assert found == [["a", "b"], *([[]] * (size - 1))]


def test_what_packs_well_is_unpacked_piece_by_piece(tmp_path: Path) -> None:
    content = b"a" * 20_000_000 + b"\nb\n"
    check(packed(tmp_path, content), content, [2, 5])


def test_a_small_file_is_read_as_a_whole(tmp_path: Path) -> None:
    path = packed(tmp_path, lines(3_000, 60))
    ((split,),) = text_splits(str(path), 1)
    assert split.whole


def test_packed_bytes_that_look_like_a_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = lines(10_000, 60)
    path = packed(tmp_path, content)
    find = bzip2._Window.find

    def find_false_ones(window: bzip2._Window, bit: int) -> Mark | None:
        found = find(window, bit)
        halfway = found and (bit + found.bit) // 2
        return Mark(halfway, is_block=True) if halfway and halfway - bit > 80_000 else found

    monkeypatch.setattr(bzip2._Window, "find", find_false_ones)
    check(path, content, [2, 6])


@pytest.mark.parametrize("where", [0.1, 0.5, 0.9])
def test_damage_is_named(tmp_path: Path, where: float) -> None:
    path = packed(tmp_path, lines(20_000, 60))
    content = bytearray(path.read_bytes())
    content[int(len(content) * where)] ^= 0xFF
    path.write_bytes(content)
    told = r"file:.*/x\.bz2 can't be decompressed from byte \d+ on: "
    with pytest.raises(CorruptInput, match=told):
        partitions(path, 4)


def test_a_file_that_was_cut_off_is_named(tmp_path: Path) -> None:
    path = packed(tmp_path, lines(20_000, 60))
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(CorruptInput, match="it ends within a block"):
        partitions(path, 4)
    path.write_bytes(b"no" + content)
    with pytest.raises(CorruptInput, match="does not begin as such a file"):
        partitions(path, 4)


def test_a_file_that_shrank_is_named(tmp_path: Path) -> None:
    path = packed(tmp_path, lines(20_000, 60))
    planned = text_splits(str(path), 4)
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[: size // 2])
    with pytest.raises(InputChanged, match=rf"had {size} bytes .* and has {size // 2} now"):
        [list(read_lines(split)) for partition in planned for split in partition]
