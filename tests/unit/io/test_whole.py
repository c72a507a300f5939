"""Expected values were taken from PySpark 4's wholeTextFiles, binaryFiles and binaryRecords."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from pyrite.io import records
from pyrite.io.errors import InputChanged
from pyrite.io.records import record_rows
from pyrite.io.splits import Split, record_splits, whole_file_splits
from pyrite.io.whole import read_binary, read_text


def only(path: Path, content: bytes) -> Split:
    path.write_bytes(content)
    ((split,),) = whole_file_splits(str(path), 1)
    return split


def test_text_keeps_line_ends_and_marks(tmp_path: Path) -> None:
    split = only(tmp_path / "a b.txt", b"\xef\xbb\xbfa\r\nb\r\xff\xed\xa0\x80")
    name, expected = f"file:{tmp_path}/a b.txt", "\ufeffa\r\nb\r\ufffd\ufffd"
    assert list(read_text(split)) == [(name, expected)]
    assert list(read_text(split, use_unicode=False)) == [(name.encode(), expected.encode())]


def test_text_is_unpacked_and_binary_is_not(tmp_path: Path) -> None:
    packed = gzip.compress(b"abc" * 1000)
    split = only(tmp_path / "z.gz", packed)
    assert list(read_text(split)) == [(f"file:{tmp_path}/z.gz", "abc" * 1000)]
    assert list(read_binary(split)) == [(f"file:{tmp_path}/z.gz", packed)]


def test_an_empty_file_is_a_row(tmp_path: Path) -> None:
    split = only(tmp_path / "empty", b"")
    assert list(read_text(split)) == [(f"file:{tmp_path}/empty", "")]
    assert list(read_binary(split)) == [(f"file:{tmp_path}/empty", b"")]


def test_other_storages_keep_their_address() -> None:
    import fsspec

    fsspec.filesystem("memory").pipe("/whole/x", b"abc")
    ((split,),) = whole_file_splits("memory://whole", 1)
    assert list(read_text(split)) == [("memory://whole/x", "abc")]


@pytest.mark.parametrize("read_bytes", [1, 7, 1000])
def test_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_bytes: int) -> None:
    monkeypatch.setattr(records, "READ_BYTES", read_bytes)
    path = tmp_path / "rec"
    path.write_bytes(bytes(range(40)))
    ((split,),) = record_splits(str(path), 4)
    expected = [bytes(range(i, i + 4)) for i in range(0, 40, 4)]
    assert list(record_rows([split], 4)) == expected
    assert list(record_rows([Split(str(path), 8, 12)], 4)) == expected[2:5]


def test_a_file_that_shrank_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rec"
    path.write_bytes(bytes(40))
    ((split,),) = record_splits(str(path), 4)
    path.write_bytes(bytes(10))
    with pytest.raises(InputChanged, match=r"file:.*/rec had 40 bytes .* and has 10 now"):
        list(record_rows([split], 4))
