"""What Hadoop's DefaultCodec writes: a zlib stream."""

from __future__ import annotations

import zlib
from types import TracebackType
from typing import BinaryIO


class DeflateWriter:
    """Packs what is written into one stream."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._packer = zlib.compressobj()

    def write(self, data: bytes) -> None:
        self._raw.write(self._packer.compress(data))

    def __enter__(self) -> DeflateWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self._raw.write(self._packer.flush())
