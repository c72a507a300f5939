"""Spill files: rows that a task has moved to disk."""

import os
import weakref
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from pyrite.blocks.codec import Buffer, Encoder, decode, frame_size, open_frame
from pyrite.bounded.large import encode_rows
from pyrite.bounded.space import Space
from pyrite.errors import ClusterError
from pyrite.machine.framerows import AnyFrame
from pyrite.probe import probe


class SpillFailed(ClusterError):
    """Rows could not be written to the scratch folder when memory ran out."""

    def __init__(self, folder: str, reason: str) -> None:
        super().__init__(folder, reason)
        self.folder = folder
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"rows that no longer fit in memory could not be written to {self.folder}: "
            f"{self.reason}. Free space there, or set spark.local.dir to a folder on a larger disk."
        )


class SpillFile:
    """An open spill file, closed with its last reader."""

    def __init__(self, path: str) -> None:
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        weakref.finalize(self, os.close, self.fd)


class SpillReader:
    """Reads the buckets of a finished spill file, each as often as needed.

    It keeps the file open, so that rows can be read after the file is removed.
    """

    def __init__(self, file: SpillFile, frames: dict[Hashable, list[tuple[int, int]]]) -> None:
        self._file = file
        self._frames = frames

    def batches(self, bucket: Hashable) -> Iterator[list[Any]]:
        """Returns the batches written to this bucket, in order, one in memory at a time."""
        for offset, length in self._frames.get(bucket, ()):
            yield decode(_read_at(self._file.fd, offset, length))

    def frames(self, bucket: Hashable) -> Iterator[AnyFrame]:
        """Returns the same, where packed ones stay packed."""
        for offset, length in self._frames.get(bucket, ()):
            yield open_frame(_read_at(self._file.fd, offset, length))


class SpillWriter:
    """Appends batches of rows, by bucket, to one new spill file."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._file: SpillFile | None = None
        self._frames: dict[Hashable, list[tuple[int, int]]] = {}
        self._encoder = Encoder()
        self._offset = 0

    def write(self, bucket: Hashable, rows: list[Any]) -> None:
        """Appends one batch to a bucket."""
        self.write_frame(bucket, encode_rows(self._encoder.encode, rows, self._space))

    def write_frame(self, bucket: Hashable, buffers: list[Buffer]) -> None:
        """Appends one batch that is encoded already."""
        length = frame_size(buffers)
        try:
            if self._file is None:
                probe("rows are spilled")
                self._file = SpillFile(self._space.spill_path())
            for buffer in buffers:
                _write_all(self._file.fd, memoryview(buffer))
        except OSError as error:
            probe("a spill finds no room")
            raise SpillFailed(self._space.folder, error.strerror or str(error)) from error
        self._frames.setdefault(bucket, []).append((self._offset, length))
        self._offset += length
        self._space.spilled_bytes += length

    def write_all(self, bucket: Hashable, rows: Iterable[Any], batch_rows: int) -> None:
        """Appends rows to a bucket in batches of this many, or of fewer where they are large."""
        for batch in self._space.weighed(rows).chunks(batch_rows):
            self.write(bucket, batch)

    def finish(self) -> SpillReader:
        """Returns a reader of what was written; nothing may be written afterwards."""
        if self._file is None:
            self._file = SpillFile(self._space.spill_path())
        return SpillReader(self._file, self._frames)


def _write_all(fd: int, data: memoryview) -> None:
    data = data.cast("B")
    while data:
        data = data[os.write(fd, data) :]


def _read_at(fd: int, offset: int, length: int) -> memoryview:
    """Reads bytes into mutable memory, since arrays in rows may be views of it."""
    data = memoryview(bytearray(length))
    done = 0
    # One call reads at most 2 GiB.
    while done < length and (read := os.preadv(fd, [data[done:]], offset + done)):
        done += read
    return data[:done]
