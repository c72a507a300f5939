"""Expected values were taken from PySpark 4's textFile."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrite.io import text, utf8
from pyrite.io.errors import CorruptInput, InputChanged
from pyrite.io.splits import Split, text_splits
from pyrite.io.text import read_lines

FIVE = b"one\ntwo\nthree\nfour\nfive\n"
MIXED = b"a\r\nb\r\nc\rd\n\ne\r\rf\n\rg"


def partitions(path: Path, min_partitions: int) -> list[list[str]]:
    return [
        [line for split in partition for line in read_lines(split)]
        for partition in text_splits(str(path), min_partitions)
    ]


def lines_of(folder: Path, content: bytes, name: str = "text") -> list[str]:
    path = folder / name
    path.write_bytes(content)
    return [line for partition in partitions(path, 1) for line in partition]


@pytest.mark.parametrize(
    ("content", "min_partitions", "expected"),
    [
        (FIVE, 1, [["one", "two", "three", "four", "five"]]),
        (FIVE, 2, [["one", "two", "three"], ["four", "five"]]),
        (FIVE, 3, [["one", "two", "three"], ["four"], ["five"]]),
        (FIVE, 4, [["one", "two"], ["three"], ["four"], ["five"]]),
        (FIVE, 5, [["one", "two"], ["three"], [], ["four"], ["five"], []]),
        (
            FIVE,
            10,
            [["one"], ["two"], [], ["three"], [], [], ["four"], [], [], ["five"], [], []],
        ),
        (MIXED, 1, [["a", "b", "c", "d", "", "e", "", "f", "", "g"]]),
        (MIXED, 2, [["a", "b", "c", "d"], ["", "e", "", "f", "", "g"]]),
        (MIXED, 3, [["a", "b", "c"], ["d", "", "e"], ["", "f", "", "g"]]),
        (MIXED, 4, [["a", "b"], ["c", "d"], ["", "e"], ["", "f", ""], ["g"]]),
        (MIXED, 7, [["a"], ["b"], ["c"], ["d"], [""], ["e"], ["", "f"], [""], ["g"]]),
        (b"\xef\xbb\xbfabc\n\xef\xbb\xbfd\n", 4, [["abc"], [], ["\ufeffd"], []]),
    ],
)
def test_lines_fall_into_the_partitions_of_pyspark(
    tmp_path: Path, content: bytes, min_partitions: int, expected: list[list[str]]
) -> None:
    path = tmp_path / "text"
    path.write_bytes(content)
    assert partitions(path, min_partitions) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"\n\n", ["", ""]),
        (b"a\r", ["a"]),
        (b"a", ["a"]),
        (b"\xef\xbb\xbf", []),
        (b"\xef\xbb\xbf\nx", ["", "x"]),
        (b"\xef\xbb\xbf\xef\xbb\xbfa\n", ["\ufeffa"]),
        (b"\xef\xbb", ["\ufffd"]),
        (
            "a\u2028b\x85c\x0bd\x0ce\x1cf\x00g\n".encode(),
            ["a\u2028b\x85c\x0bd\x0ce\x1cf\x00g"],
        ),
    ],
)
def test_line_ends_and_marks(tmp_path: Path, content: bytes, expected: list[str]) -> None:
    assert lines_of(tmp_path, content) == expected


BROKEN = (
    b"ok\xff\xfe\n\xe4\xf6\n\xed\xa0\x80x\n\xf0\x9f\x98\n\xc0\x80\n"
    b"\xe2\x82A\n\xf4\x90\x80\x80\n\xf0\x80\x80A\n\xe0\x80\x80\n"
)
REPAIRED = ["ok??", "??", "?x", "?", "??", "?A", "????", "???A", "???"]


def test_broken_bytes_are_replaced(tmp_path: Path) -> None:
    expected = [line.replace("?", "\ufffd") for line in REPAIRED]
    assert lines_of(tmp_path, BROKEN) == expected
    split = Split(str(tmp_path / "text"), 0, len(BROKEN))
    assert list(read_lines(split, False)) == [line.encode() for line in expected]


@pytest.mark.parametrize("tail", [b"", b"x", b"\x80", b"\xed"])
def test_a_surrogate_cut_short_is_one_replacement(tail: bytes) -> None:
    expected = {b"": "\ufffd", b"x": "\ufffdx", b"\x80": "\ufffd", b"\xed": "\ufffd\ufffd"}
    assert utf8.decode(b"\xed\xa0" + tail) == expected[tail]


def test_valid_bytes_are_not_touched() -> None:
    data = "gr\u00fcn \U0001f600".encode()
    assert utf8.repair(data) is data


def reference_lines(content: bytes) -> list[bytes]:
    return content.replace(b"\r\n", b"\n").replace(b"\r", b"\n").removesuffix(b"\n").split(b"\n")


CONTENT = st.lists(
    st.sampled_from([b"\n", b"\r", b"\r\n", b"a", b"bcd", "\u00e9".encode(), b"\xff", b"x" * 20])
).map(b"".join)


@settings(max_examples=300)
@given(content=CONTENT, cuts=st.sets(st.integers(1, 200)), read_bytes=st.integers(1, 9))
def test_each_line_is_read_once_wherever_a_file_is_cut(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, cuts: set[int], read_bytes: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "property"
    path.write_bytes(content)
    inner = sorted(cut for cut in cuts if cut < len(content))
    edges = [0, *inner, len(content)]
    splits = [Split(str(path), a, b - a) for a, b in pairwise(edges)]
    expected = reference_lines(content) if content else []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "READ_BYTES", read_bytes)
        patch.setattr(text, "READ_ON_BYTES", max(1, read_bytes // 2))
        as_text = [line for split in splits for line in read_lines(split)]
        as_bytes = [line for split in splits for line in read_lines(split, False)]
    assert as_text == [utf8.decode(line) for line in expected]
    assert as_bytes == [utf8.repair(line) for line in expected]


@pytest.mark.parametrize("line_bytes", [text.READ_BYTES - 1, text.READ_BYTES, 5_000_000])
def test_lines_longer_than_a_block(tmp_path: Path, line_bytes: int) -> None:
    content = b"short\n" + b"y" * line_bytes + b"\r\nlast"
    path = tmp_path / "text"
    path.write_bytes(content)
    for min_partitions in (1, 3, 40):
        found = partitions(path, min_partitions)
        assert [len(line) for part in found for line in part] == [5, line_bytes, 4]


def test_a_file_of_carriage_returns_is_read_in_blocks(tmp_path: Path) -> None:
    count = 3 * text.READ_BYTES + 1
    assert lines_of(tmp_path, b"\r" * count) == [""] * count


def test_a_compressed_file_is_one_split(tmp_path: Path) -> None:
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(b"one\ntwo\n" * 50_000) + gzip.compress(b"tail\n"))
    (partition,) = text_splits(str(path), 3)
    lines = list(read_lines(partition[0]))
    assert (len(lines), lines[0], lines[-1]) == (100_001, "one", "tail")


def test_the_mark_is_also_removed_from_a_compressed_file(tmp_path: Path) -> None:
    assert lines_of(tmp_path, gzip.compress(b"\xef\xbb\xbfa\n"), "bom.gz") == ["a"]


@pytest.mark.parametrize(
    "content", [b"no gzip at all", gzip.compress(b"abc" * 1000, mtime=0)[:-20]], ids=["text", "cut"]
)
def test_a_broken_compressed_file_is_named(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(CorruptInput, match=r"file:.*/bad\.gz can't be decompressed"):
        lines_of(tmp_path, content, "bad.gz")


@pytest.mark.parametrize("left_bytes", [0, 1, 11, 12, 13, 23])
def test_a_file_that_shrank_is_named(tmp_path: Path, left_bytes: int) -> None:
    path = tmp_path / "text"
    path.write_bytes(FIVE)
    splits = [split for partition in text_splits(str(path), 2) for split in partition]
    path.write_bytes(FIVE[:left_bytes])
    told = f"file:.*/text had 24 bytes when .* planned, and has {left_bytes} now: make the RDD anew"
    with pytest.raises(InputChanged, match=told):
        [list(read_lines(split)) for split in splits]


def test_no_line_is_given_that_was_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(FIVE)
    first = text_splits(str(path), 2)[0][0]
    # The split ends at byte 12, and its last line at byte 14.
    path.write_bytes(FIVE[:13])
    with pytest.raises(InputChanged, match="has 13 now"):
        list(read_lines(first))


def test_what_a_file_has_grown_by_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(FIVE)
    splits = [split for partition in text_splits(str(path), 2) for split in partition]
    path.write_bytes(FIVE + FIVE)
    lines = [line for split in splits for line in read_lines(split)]
    # A line that starts exactly at the end belongs to the split, as with PySpark.
    assert lines == ["one", "two", "three", "four", "five", "one"]
