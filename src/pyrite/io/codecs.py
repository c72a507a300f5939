"""Compression by a file's suffix, or by the Hadoop class that PySpark programs name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, cast

from pyrite.io import filesystem
from pyrite.io.errors import CodecUnknown, CorruptInput, PackageMissing
from pyrite.metrics import COUNTS

_HADOOP: Final = "org.apache.hadoop.io.compress."


@dataclass(frozen=True, slots=True)
class Codec:
    """One way to compress: the suffix of its files and how to wrap an open file."""

    suffix: str
    reader: Callable[[BinaryIO], BinaryIO]
    writer: Callable[[BinaryIO], BinaryIO]
    # Whether a file can be read from the middle on.
    splittable: bool = False


def _gzip_reader(raw: BinaryIO) -> BinaryIO:
    import gzip

    return cast(BinaryIO, gzip.GzipFile(fileobj=raw, mode="rb"))


def _gzip_writer(raw: BinaryIO) -> BinaryIO:
    import gzip

    # No name and no time inside: the same rows give the same bytes.
    packed = gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0)
    return cast(BinaryIO, packed)


def _bzip2_reader(raw: BinaryIO) -> BinaryIO:
    import bz2

    return cast(BinaryIO, bz2.BZ2File(raw, "rb"))


def _bzip2_writer(raw: BinaryIO) -> BinaryIO:
    import bz2

    return cast(BinaryIO, bz2.BZ2File(raw, "wb"))


def _xz_reader(raw: BinaryIO) -> BinaryIO:
    import lzma

    return cast(BinaryIO, lzma.LZMAFile(raw, "rb"))


def _xz_writer(raw: BinaryIO) -> BinaryIO:
    import lzma

    return cast(BinaryIO, lzma.LZMAFile(raw, "wb"))


def _zstandard_reader(raw: BinaryIO) -> BinaryIO:
    from pyrite.io.streams import StreamsReader

    return cast(BinaryIO, StreamsReader(raw, _zstandard().ZstdDecompressor().decompressobj))


def _zstandard_writer(raw: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, _zstandard().ZstdCompressor().stream_writer(raw, closefd=False))


def _deflate_reader(raw: BinaryIO) -> BinaryIO:
    import zlib

    from pyrite.io.streams import StreamsReader

    return cast(BinaryIO, StreamsReader(raw, zlib.decompressobj))


def _deflate_writer(raw: BinaryIO) -> BinaryIO:
    from pyrite.io.deflate import DeflateWriter

    return cast(BinaryIO, DeflateWriter(raw))


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError as error:
        message = ".zst files need a package that is not installed: pip install zstandard"
        raise PackageMissing(message) from error
    return zstandard


_GZIP: Final = Codec(".gz", _gzip_reader, _gzip_writer)
_DEFLATE: Final = Codec(".deflate", _deflate_reader, _deflate_writer)
_BZIP2: Final = Codec(".bz2", _bzip2_reader, _bzip2_writer, splittable=True)
_XZ: Final = Codec(".xz", _xz_reader, _xz_writer)
_ZSTANDARD: Final = Codec(".zst", _zstandard_reader, _zstandard_writer)

_BY_SUFFIX: Final = {codec.suffix: codec for codec in (_GZIP, _DEFLATE, _BZIP2, _XZ, _ZSTANDARD)}
_BY_CLASS: Final = {
    _HADOOP + "GzipCodec": _GZIP,
    _HADOOP + "DefaultCodec": _DEFLATE,
    _HADOOP + "DeflateCodec": _DEFLATE,
    _HADOOP + "BZip2Codec": _BZIP2,
    _HADOOP + "ZStandardCodec": _ZSTANDARD,
}
# Hadoop would decompress these; reading them as plain text would give garbage without a word.
_UNREADABLE: Final = (".snappy", ".lz4", ".lzo")


def codec_of(path: str) -> Codec | None:
    """The codec that a file's suffix asks for, in any case, or None for a plain file."""
    lowered = path.lower()
    for suffix, codec in _BY_SUFFIX.items():
        if lowered.endswith(suffix):
            return codec
    if lowered.endswith(_UNREADABLE):
        known = ", ".join(_BY_SUFFIX)
        raise CodecUnknown(
            f"{path}: Pyrite can't decompress this suffix; pack the file as one of {known}"
        )
    return None


def codec_named(class_name: str | None) -> Codec | None:
    """The codec behind the class name that saveAsTextFile takes, or None for no compression."""
    if not class_name:
        return None
    codec = _BY_CLASS.get(class_name)
    if codec is None:
        known = ", ".join(_BY_CLASS)
        raise CodecUnknown(f"compressionCodecClass {class_name!r} is unknown; use one of {known}")
    return codec


class InputStream:
    """An open input file, decompressed; what goes wrong while reading names the file."""

    def __init__(self, path: str, *, decompress: bool = True) -> None:
        codec = codec_of(path) if decompress else None
        self._path = path
        self._raw = filesystem.open_read(path)
        self._stream = self._raw
        if codec is not None:
            try:
                self._stream = codec.reader(self._raw)
            except BaseException:
                self._raw.close()
                raise

    def __enter__(self) -> InputStream:
        return self

    def __exit__(self, *_: object) -> None:
        if self._stream is not self._raw:
            with suppress(OSError, ValueError):
                # Of a packed file: the packed bytes.
                COUNTS.read_bytes += self._raw.tell()
            self._stream.close()
        self._raw.close()

    def seek(self, position: int) -> None:
        self._stream.seek(position)

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes; none at the end of the file."""
        if self._stream is self._raw:
            data = self._raw.read(size)
            COUNTS.read_bytes += len(data)
            return data
        try:
            return self._stream.read(size)
        except (OSError, EOFError, ValueError, self._codec_error()) as error:
            message = f"{filesystem.display(self._path)} can't be decompressed: {error}"
            raise CorruptInput(message, self._path) from error

    def _codec_error(self) -> type[Exception]:
        suffix = self._path.lower().rpartition(".")[2]
        if suffix in ("gz", "deflate"):
            import zlib

            return zlib.error
        if suffix == "xz":
            import lzma

            return lzma.LZMAError
        if suffix == "zst":
            return cast(type[Exception], _zstandard().ZstdError)
        return OSError


@contextmanager
def output_stream(path: str, codec: Codec | None) -> Iterator[BinaryIO]:
    """An open output file that compresses what is written."""
    with filesystem.open_write(path) as raw:
        if codec is None:
            yield raw
        else:
            with codec.writer(raw) as packed:
                yield packed
        with suppress(OSError, ValueError):
            COUNTS.written_bytes += raw.tell()
