"""Files as programs name them, and files that others change meanwhile."""

from __future__ import annotations

import bz2
import shutil
from pathlib import Path
from typing import Any

import pytest

from pyrite import SparkContext, SparkFiles
from pyrite.errors import TaskFailed
from pyrite.sql import SparkSession

LINES = [f"line {number:06}" for number in range(1000)]
HADOOP = "org.apache.hadoop.io.compress."


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("".join(f"{line}\n" for line in LINES))
    return path


def test_paths_of_pathlib_are_read(sc: SparkContext, text: Path) -> None:
    assert sc.textFile(text).collect() == LINES
    assert sc.textFile(text).name() == str(text)
    assert sc.wholeTextFiles(text.parent).values().collect() == [text.read_text()]
    assert sc.binaryFiles(text).values().collect() == [text.read_bytes()]
    assert sc.binaryRecords(text, 12).count() == 1000
    rows = SparkSession(sc).read.text(text).rdd
    assert rows.map(lambda row: row.value).collect() == LINES
    assert SparkSession(sc).read.text([text, str(text)]).rdd.count() == 2000


def test_paths_of_pathlib_are_written(sc: SparkContext, tmp_path: Path) -> None:
    rows = sc.parallelize(LINES, 3)
    rows.saveAsTextFile(tmp_path / "lines")
    rows.saveAsPickleFile(tmp_path / "rows")
    assert sc.textFile(tmp_path / "lines").collect() == LINES
    assert sc.pickleFile(tmp_path / "rows").collect() == LINES
    sc.setCheckpointDir(tmp_path / "checkpoints")
    rows.checkpoint()
    assert rows.count() == 1000
    folder = tmp_path / "checkpoints"
    assert (rows.getCheckpointFile() or "").startswith(f"file:{folder}")


def test_paths_of_pathlib_are_added(sc: SparkContext, text: Path, tmp_path: Path) -> None:
    sc.addFile(text)
    assert Path(SparkFiles.get(Path("text.txt"))).read_text() == text.read_text()
    module = tmp_path / "added_by_path.py"
    module.write_text("ANSWER = 42")
    sc.addPyFile(module)
    archive = shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path, "text.txt")
    sc.addArchive(Path(archive))
    assert Path(SparkFiles.get("packed.zip"), "text.txt").exists()


@pytest.mark.parametrize("wrong", [5, None, b"bytes", ["a", "b"]])
def test_what_is_no_path_is_said_at_once(sc: SparkContext, wrong: Any) -> None:
    for use in (sc.textFile, sc.pickleFile, sc.addFile, sc.range(3).saveAsTextFile):
        with pytest.raises(TypeError, match=r"a path must be a str or an os\.PathLike"):
            use(wrong)


def test_a_file_that_was_truncated_between_two_jobs_is_named(sc: SparkContext, text: Path) -> None:
    lines = sc.textFile(text, 2)
    assert lines.count() == 1000
    text.write_bytes(text.read_bytes()[:11_000])
    with pytest.raises(TaskFailed, match=r"text\.txt had 12000 bytes .* and has 11000 now"):
        lines.count()
    assert sc.textFile(text, 2).count() == 917


def test_a_bzip2_file_is_read_by_several_partitions(sc: SparkContext, tmp_path: Path) -> None:
    path = tmp_path / "text.bz2"
    lines = [f"{number * 7919 % 100_003} {number}" for number in range(60_000)]
    path.write_bytes(bz2.compress("".join(f"{line}\n" for line in lines).encode(), 1))
    found = sc.textFile(path, 4).glom().collect()
    assert all(found) and len(found) >= 4
    assert [line for partition in found for line in partition] == lines


@pytest.mark.parametrize("codec", ["DefaultCodec", "BZip2Codec", "GzipCodec"])
def test_what_is_packed_can_be_read_again(sc: SparkContext, tmp_path: Path, codec: str) -> None:
    sc.parallelize(LINES, 3).saveAsTextFile(tmp_path / "packed", HADOOP + codec)
    assert sc.textFile(tmp_path / "packed").collect() == LINES
