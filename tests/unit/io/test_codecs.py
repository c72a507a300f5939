from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from pyrite.io.codecs import InputStream, codec_named, codec_of, output_stream
from pyrite.io.errors import CodecUnknown, CorruptInput, PackageMissing

BODY = b"one\ntwo\n" * 20_000
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".deflate": zlib.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}
HADOOP = "org.apache.hadoop.io.compress."


@pytest.mark.parametrize("suffix", [*PACKERS, ".GZ"])
def test_reads_streams_laid_one_after_another(tmp_path: Path, suffix: str) -> None:
    pack = PACKERS[suffix.lower()]
    path = tmp_path / f"x{suffix}"
    path.write_bytes(pack(BODY) + pack(b"tail"))
    with InputStream(str(path)) as stream:
        found = b"".join(iter(lambda: stream.read(1000), b""))
    assert found == BODY + b"tail"


@pytest.mark.parametrize("suffix", PACKERS)
def test_garbage_is_named(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"bad{suffix}"
    path.write_bytes(b"certainly not packed")
    with pytest.raises(CorruptInput, match=f"bad{suffix} can't"), InputStream(str(path)) as stream:
        stream.read(100)


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_file_that_ends_too_early_is_named(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"cut{suffix}"
    path.write_bytes(PACKERS[suffix](BODY)[:-6])
    with pytest.raises(CorruptInput, match=f"cut{suffix} can't"), InputStream(str(path)) as stream:
        while stream.read(1000):
            pass


def test_what_hadoop_packs_can_be_read(tmp_path: Path) -> None:
    """The bytes are those of PySpark 4's saveAsTextFile with DefaultCodec."""
    (tmp_path / "part-00000.deflate").write_bytes(bytes.fromhex("789c4be44ae24a046200084401af"))
    with InputStream(str(tmp_path / "part-00000.deflate")) as stream:
        assert stream.read() == b"a\nb\na\nb\n"
    with output_stream(str(tmp_path / "x"), codec_named(HADOOP + "DefaultCodec")) as output:
        output.write(b"a\nb\na\nb\n")
    assert (tmp_path / "x").read_bytes()[:2].hex() == "789c"
    (tmp_path / "tail.deflate").write_bytes(zlib.compress(b"a") + b"tail")
    with (
        pytest.raises(CorruptInput, match="incorrect header check"),
        InputStream(str(tmp_path / "tail.deflate")) as stream,
    ):
        stream.read()


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("GzipCodec", ".gz"),
        ("DefaultCodec", ".deflate"),
        ("DeflateCodec", ".deflate"),
        ("BZip2Codec", ".bz2"),
        ("ZStandardCodec", ".zst"),
    ],
)
def test_hadoop_class_names(tmp_path: Path, name: str, suffix: str) -> None:
    codec = codec_named(HADOOP + name)
    assert codec is not None
    assert codec.suffix == suffix
    path = str(tmp_path / f"out{suffix}")
    with output_stream(path, codec) as output:
        output.write(BODY)
    with InputStream(path) as stream:
        assert stream.read() == BODY


def test_no_name_means_no_compression(tmp_path: Path) -> None:
    assert codec_named(None) is None
    assert codec_named("") is None
    with output_stream(str(tmp_path / "x"), None) as output:
        output.write(BODY)
    assert (tmp_path / "x").read_bytes() == BODY


def test_the_same_rows_give_the_same_gzip_bytes(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        with output_stream(str(tmp_path / name), codec_named(HADOOP + "GzipCodec")) as output:
            output.write(BODY)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert (tmp_path / "a.gz").read_bytes()[4:8] == bytes(4)


@pytest.mark.parametrize("name", ["gzip", "x.y.Z", HADOOP + "SnappyCodec"])
def test_an_unknown_class_names_the_alternatives(name: str) -> None:
    with pytest.raises(CodecUnknown, match=rf"'{name}' is unknown.*GzipCodec.*ZStandardCodec"):
        codec_named(name)


def test_suffixes() -> None:
    assert codec_of("plain.txt") is None
    assert codec_of("gz") is None
    with pytest.raises(CodecUnknown, match=r"x\.snappy.*\.gz, \.deflate, \.bz2, \.xz, \.zst"):
        codec_of("x.snappy")


def test_a_missing_zstandard_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.zst"
    path.write_bytes(PACKERS[".zst"](BODY))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(PackageMissing, match="pip install zstandard"):
        InputStream(str(path))


def test_bytes_can_be_left_packed(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(BODY))
    with InputStream(str(path), decompress=False) as stream:
        assert stream.read(4) == b"\x1f\x8b\x08\x00"
