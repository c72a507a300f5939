"""Expected values were taken from PySpark 4, with the files in the order given here."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path

import pytest

from pyrite.io.errors import BadPath, CorruptInput
from pyrite.io.splits import (
    Split,
    binary_file_splits,
    pickle_splits,
    record_splits,
    text_splits,
    whole_file_splits,
)

MB = 1024 * 1024


def make(folder: Path, sizes: dict[str, int]) -> str:
    """Files of these sizes without content, as an argument that keeps their order."""
    for name, size in sizes.items():
        with (folder / name).open("wb") as file:
            file.truncate(size)
    return ",".join(f"{folder}/{name}" for name in sizes)


def ranges(partitions: list[list[Split]]) -> list[tuple[int, int]]:
    return [(split.start, split.length) for (split,) in partitions]


def grouped(partitions: list[list[Split]]) -> list[list[str]]:
    return [[split.path.rpartition("/")[2] for split in part] for part in partitions]


@pytest.mark.parametrize(
    ("min_partitions", "expected"),
    [
        (1, [(0, 32 * MB), (32 * MB, 32 * MB), (64 * MB, 32 * MB), (96 * MB, 4 * MB)]),
        (2, [(0, 32 * MB), (32 * MB, 32 * MB), (64 * MB, 32 * MB), (96 * MB, 4 * MB)]),
        (5, [(20 * MB * i, 20 * MB) for i in range(5)]),
    ],
)
def test_a_large_file_is_cut_at_32_mb(
    tmp_path: Path, min_partitions: int, expected: list[tuple[int, int]]
) -> None:
    assert ranges(text_splits(make(tmp_path, {"big": 100 * MB}), min_partitions)) == expected


@pytest.mark.parametrize(
    ("min_partitions", "count"),
    [(0, 1), (1, 1), (3, 3), (7, 8), (9, 9), (10, 10), (11, 12), (30, 34), (99, 100)],
)
def test_counts_for_a_file_of_100_bytes(tmp_path: Path, min_partitions: int, count: int) -> None:
    assert len(text_splits(make(tmp_path, {"x": 100}), min_partitions)) == count


@pytest.mark.parametrize(
    ("min_partitions", "counts"),
    [
        (1, [1, 1, 1, 1]),
        (2, [1, 2, 1, 1]),
        (4, [1, 3, 2, 1]),
        (10, [1, 7, 4, 1]),
        (16, [1, 10, 6, 1]),
    ],
)
def test_the_goal_counts_all_files_and_empty_ones_vanish(
    tmp_path: Path, min_partitions: int, counts: list[int]
) -> None:
    argument = make(tmp_path, {"f1": 10, "f0": 100, "f3": 55, "f2": 0, "f4": 1})
    found = [path for (path,) in grouped(text_splits(argument, min_partitions))]
    assert [found.count(name) for name in ("f1", "f0", "f3", "f4")] == counts
    assert len(found) == sum(counts)


def test_negative_counts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="minPartitions can't be negative: -1"):
        text_splits(make(tmp_path, {"x": 100}), -1)


def test_compressed_files_stay_whole(tmp_path: Path) -> None:
    (tmp_path / "z.GZ").write_bytes(gzip.compress(b"x"))
    (tmp_path / "empty.gz").write_bytes(b"")
    ((split,),) = text_splits(f"{tmp_path}/z.GZ,{tmp_path}/empty.gz", 9)
    assert (split.start, split.whole) == (0, True)


DIR = {"b.txt": 6, "9": 2, "e": 0, "B.txt": 2, "10": 3, "a.txt": 6}


@pytest.mark.parametrize(
    ("min_partitions", "expected"),
    [
        (1, [["b.txt", "9", "B.txt", "10", "a.txt"], ["e"]]),
        (2, [["b.txt", "9", "B.txt"], ["e", "10", "a.txt"]]),
        (3, [["b.txt", "9"], ["B.txt", "10", "a.txt"], ["e"]]),
        (4, [["b.txt"], ["9", "B.txt", "10"], ["a.txt"], ["e"]]),
        (8, [["b.txt"], ["9", "B.txt"], ["10"], ["a.txt"], ["e"]]),
    ],
)
def test_whole_files_are_combined(
    tmp_path: Path, min_partitions: int, expected: list[list[str]]
) -> None:
    assert grouped(whole_file_splits(make(tmp_path, DIR), min_partitions)) == expected


def test_whole_files_that_are_all_empty(tmp_path: Path) -> None:
    assert grouped(whole_file_splits(make(tmp_path, {"b": 0, "a": 0}), 2)) == [["b", "a"]]


LARGE = {"f6": 2, "f1": 9, "f0": 3, "f3": 5, "f2": 1, "f5": 2, "f4": 0}


@pytest.mark.parametrize(
    ("min_partitions", "expected"),
    [
        (2, [["f6", "f1", "f0", "f3", "f2", "f5", "f4"]]),
        (4, [["f6", "f1", "f0"], ["f3", "f2", "f5", "f4"]]),
        (40, [["f6", "f1"], ["f0", "f3"], ["f2", "f5", "f4"]]),
    ],
)
def test_binary_files_are_combined(
    tmp_path: Path, min_partitions: int, expected: list[list[str]]
) -> None:
    argument = make(tmp_path, {name: size * MB for name, size in LARGE.items()})
    assert grouped(binary_file_splits(argument, min_partitions, parallelism=2)) == expected


def test_records_are_never_cut(tmp_path: Path) -> None:
    argument = make(tmp_path, {"big": 100_000_000})
    assert ranges(record_splits(argument, 1000)) == [
        (0, 33554000),
        (33554000, 33554000),
        (67108000, 32892000),
    ]
    assert ranges(record_splits(argument, 50_000_000)) == [
        (0, 50_000_000),
        (50_000_000, 50_000_000),
    ]


def test_records_that_do_not_fit_are_named(tmp_path: Path) -> None:
    argument = make(tmp_path, {"rec": 40})
    with pytest.raises(CorruptInput, match=r"rec has 40 bytes, not a multiple.*3"):
        record_splits(argument, 3)
    with pytest.raises(ValueError, match="recordLength"):
        record_splits(argument, 0)
    with pytest.raises(BadPath, match=r"z\.gz.*compressed"):
        record_splits(make(tmp_path, {"z.gz": 40}), 4)


def test_small_pickle_files_stay_whole(tmp_path: Path) -> None:
    argument = make(tmp_path, {"a": 230, "b": 230})
    assert ranges(pickle_splits(argument, 5)) == [(0, 230), (0, 230)]


def test_a_split_travels_by_pickle() -> None:
    split = Split("/x", 3, 4)
    assert pickle.loads(pickle.dumps(split)) == split
    assert split.end == 7


def test_nothing_to_read_gives_no_partitions(tmp_path: Path) -> None:
    for cut in (text_splits, whole_file_splits, pickle_splits, record_splits):
        assert cut(str(tmp_path), 2) == []
