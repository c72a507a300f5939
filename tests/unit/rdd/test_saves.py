"""Folders of text and pickles."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from plain import PlainContext

from pyrite.errors import NotSupported


def test_text_is_a_file_per_partition(sc: PlainContext, tmp_path: Path) -> None:
    sc.parallelize(["a", 1, None, b"d"], 2).saveAsTextFile(str(tmp_path / "out"))
    found = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert found == {"part-00000": "a\n1\n", "part-00001": "None\nd\n", "_SUCCESS": ""}


def test_text_is_compressed_by_a_codec(sc: PlainContext, tmp_path: Path) -> None:
    codec = "org.apache.hadoop.io.compress.GzipCodec"
    sc.parallelize(["a", "b"], 1).saveAsTextFile(str(tmp_path / "out"), codec)
    assert gzip.decompress((tmp_path / "out" / "part-00000.gz").read_bytes()) == b"a\nb\n"


def test_pickles_hold_the_rows(sc: PlainContext, tmp_path: Path) -> None:
    from pyrite.io.pickles import read_rows
    from pyrite.io.splits import Split

    sc.parallelize([1, "two", (3,)], 1).saveAsPickleFile(str(tmp_path / "out"))
    file = tmp_path / "out" / "part-00000"
    assert list(read_rows(Split(str(file), 0, file.stat().st_size))) == [1, "two", (3,)]


def test_an_existing_folder_is_refused_before_any_task_runs(
    sc: PlainContext, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(OSError, match="already exists"):
        sc.range(3).saveAsTextFile(str(tmp_path / "out"))
    assert sc.jobs == []


def test_a_failure_leaves_nothing_behind(sc: PlainContext, tmp_path: Path) -> None:
    rdd = sc.range(4, 2).map(lambda x: 1 // (3 - x))
    with pytest.raises(ZeroDivisionError):
        rdd.saveAsTextFile(str(tmp_path / "new" / "out"))
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("saveAsHadoopFile", ["path", "format"]),
        ("saveAsHadoopDataset", [{}]),
        ("saveAsNewAPIHadoopFile", ["path", "format"]),
        ("saveAsNewAPIHadoopDataset", [{}]),
        ("saveAsSequenceFile", ["path"]),
        ("withResources", [None]),
    ],
)
def test_what_needs_the_jvm_says_so(sc: PlainContext, method: str, arguments: list[Any]) -> None:
    with pytest.raises(NotSupported, match=f"RDD.{method} needs Spark's JVM"):
        getattr(sc.range(3), method)(*arguments)
