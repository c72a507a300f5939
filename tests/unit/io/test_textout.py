"""Expected values were taken from PySpark 4's saveAsTextFile."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyrite.io.codecs import codec_named
from pyrite.io.textout import write_lines


def written(folder: Path, rows: list[Any]) -> bytes:
    write_lines(str(folder / "part"), rows)
    return (folder / "part").read_bytes()


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], b""),
        (["a", "\u00fc", "b\nc", ""], b"a\n\xc3\xbc\nb\nc\n\n"),
        (
            [1, None, (1, "x"), b"\xffb", bytearray(b"x"), "s", 1.5, [1], True, ""],
            b"1\nNone\n(1, 'x')\n\xef\xbf\xbdb\nbytearray(b'x')\ns\n1.5\n[1]\nTrue\n\n",
        ),
        ([b"abc", "\ufeffbom"], b"abc\n\xef\xbb\xbfbom\n"),
        (["x"] * 1000, b"x\n" * 1000),
    ],
)
def test_rows_as_lines(tmp_path: Path, rows: list[Any], expected: bytes) -> None:
    assert written(tmp_path, rows) == expected


def test_text_that_has_no_utf8_fails(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        written(tmp_path, ["\ud800"])


def test_compressed_lines(tmp_path: Path) -> None:
    codec = codec_named("org.apache.hadoop.io.compress.GzipCodec")
    write_lines(str(tmp_path / "part.gz"), (str(i) for i in range(3)), codec)
    assert gzip.decompress((tmp_path / "part.gz").read_bytes()) == b"0\n1\n2\n"


def test_an_error_of_the_rows_is_the_error_seen(tmp_path: Path) -> None:
    def rows() -> Iterator[str]:
        yield "a"
        raise KeyError("user")

    codec = codec_named("org.apache.hadoop.io.compress.BZip2Codec")
    with pytest.raises(KeyError, match="user"):
        write_lines(str(tmp_path / "part.bz2"), rows(), codec)
