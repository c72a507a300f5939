"""How input files are cut into partitions: Hadoop's rules, computed before any task runs."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from pyrite.io.codecs import codec_of
from pyrite.io.errors import BadPath, CorruptInput, InputChanged
from pyrite.io.filesystem import display, locate
from pyrite.io.paths import InputFile, expand

BLOCK_BYTES: Final = 32 * 1024 * 1024
# The last piece may be a tenth larger than the others, rather than a crumb of its own.
SLOP: Final = 1.1
PICKLE_MIN_BYTES: Final = 100 * 1024
# Spark's defaults for spark.files.maxPartitionBytes and spark.files.openCostInBytes.
BINARY_MAX_BYTES: Final = 128 * 1024 * 1024
BINARY_OPEN_COST_BYTES: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Split:
    """A stretch of one file; a whole one is read to its end, whatever its length says."""

    path: str
    start: int
    length: int
    whole: bool = False
    file_bytes: int | None = None
    """How large the file was, where that must not have become less."""
    key: int | None = None
    """The key of the block that it begins in, where its storage is a hash ring."""

    @property
    def end(self) -> int:
        return self.start + self.length

    def check_length(self, end: int) -> None:
        """Told where the file ends by who has read it so far: no row may be missing."""
        if self.file_bytes is not None and end < self.file_bytes:
            raise self.changed()

    def changed(self) -> InputChanged:
        """The error for a file that is not the one that was planned for."""
        planned = self.end if self.file_bytes is None else self.file_bytes
        message = (
            f"{display(self.path)} had {planned} bytes when its partitions were planned, and has "
            f"{_size_now(self.path)} now: make the RDD anew to read the file as it is"
        )
        return InputChanged(message, self.path)


def text_splits(path_argument: str, min_partitions: int) -> list[list[Split]]:
    """The partitions of textFile: stretches of plain and of bzip2 files, others as a whole."""
    files = expand(path_argument)
    goal = _goal_bytes(files, min_partitions)
    partitions = []
    for file in files:
        codec = codec_of(file.path)
        if file.size is None or (codec is not None and not codec.splittable):
            pieces = [_whole(file)] if file.size != 0 else []
        else:
            pieces = _cut_file(file, max(1, goal))
            if codec is not None and len(pieces) == 1:
                pieces = [_whole(file)]
        partitions += [[piece] for piece in pieces]
    return partitions


def pickle_splits(path_argument: str, min_partitions: int) -> list[list[Split]]:
    """The partitions of pickleFile."""
    files = expand(path_argument)
    goal = _goal_bytes(files, min_partitions)
    size = max(PICKLE_MIN_BYTES, goal)
    return [[piece] for file in files for piece in _cut_file(file, size)]


def whole_file_splits(path_argument: str, min_partitions: int) -> list[list[Split]]:
    """The partitions of wholeTextFiles: several files each, of about the same size together."""
    files = expand(path_argument, skip_folders=True)
    total = sum(file.size or 0 for file in files)
    return _combine(files, -(-total // _at_least_one(min_partitions)))


def binary_file_splits(
    path_argument: str, min_partitions: int, parallelism: int
) -> list[list[Split]]:
    """The partitions of binaryFiles: as whole files, where opening one counts as 4 MB."""
    files = expand(path_argument, skip_folders=True)
    total = sum((file.size or 0) + BINARY_OPEN_COST_BYTES for file in files)
    per_core = total // max(1, parallelism, min_partitions)
    return _combine(files, min(BINARY_MAX_BYTES, max(BINARY_OPEN_COST_BYTES, per_core)))


def record_splits(path_argument: str, record_length: int) -> list[list[Split]]:
    """The partitions of binaryRecords, each of complete records."""
    if record_length <= 0:
        raise ValueError(f"recordLength must be at least 1 byte, not {record_length}")
    size = max(1, BLOCK_BYTES // record_length) * record_length
    partitions = []
    for file in expand(path_argument):
        _check_records(file, record_length)
        partitions += [[_keyed(file, piece)] for piece in _cut(file.path, file.size or 0, size)]
    return partitions


def _check_records(file: InputFile, record_length: int) -> None:
    shown = display(file.path)
    if codec_of(file.path):
        message = f"{shown}: records of a fixed length can't be read from a compressed file"
        raise BadPath(f"{message}; unpack it first", file.path)
    if file.size is None or file.size % record_length:
        message = f"{shown} has {file.size} bytes, not a multiple of recordLength {record_length}"
        raise CorruptInput(message, file.path)


def _goal_bytes(files: Sequence[InputFile], min_partitions: int) -> int:
    return sum(file.size or 0 for file in files) // _at_least_one(min_partitions)


def _at_least_one(min_partitions: int) -> int:
    if min_partitions < 0:
        raise ValueError(f"minPartitions can't be negative: {min_partitions}")
    return min_partitions or 1


def _cut_file(file: InputFile, goal_bytes: int) -> list[Split]:
    """Pieces of a file; where its storage has blocks, each piece lies in one of them."""
    size = file.size or 0
    if not file.block_ends:
        return _cut(file.path, size, min(goal_bytes, BLOCK_BYTES))
    starts = (0, *file.block_ends)
    keys = file.block_keys or (None,) * len(file.block_ends)
    return [
        replace(piece, start=start + piece.start, file_bytes=size, key=key)
        for start, end, key in zip(starts, file.block_ends, keys, strict=False)
        for piece in _cut(file.path, end - start, goal_bytes)
    ]


def _keyed(file: InputFile, piece: Split) -> Split:
    """A piece with the key of the block that it begins in."""
    if not file.block_keys:
        return piece
    block = min(bisect_right(file.block_ends, piece.start), len(file.block_keys) - 1)
    return replace(piece, key=file.block_keys[block])


def _cut(path: str, size: int, piece_bytes: int) -> list[Split]:
    pieces, start = [], 0
    while (size - start) / piece_bytes > SLOP:
        pieces.append(Split(path, start, piece_bytes, file_bytes=size))
        start += piece_bytes
    if start < size:
        pieces.append(Split(path, start, size - start, file_bytes=size))
    return pieces


def _combine(files: Sequence[InputFile], full_bytes: int) -> list[list[Split]]:
    """Fill partitions one after the other, until each holds `full_bytes`."""
    partitions: list[list[Split]] = []
    filling: list[int] = []
    filled_bytes = 0
    for index, file in enumerate(files):
        if file.size == 0:
            continue
        filling.append(index)
        filled_bytes += file.size or 0
        if full_bytes and filled_bytes >= full_bytes:
            partitions.append([_whole(files[i]) for i in filling])
            filling, filled_bytes = [], 0
    # Empty files have no block on any node: Hadoop places them last, with what is left over.
    empty = [index for index, file in enumerate(files) if file.size == 0]
    rest = sorted(filling + empty)
    return [*partitions, [_whole(files[i]) for i in rest]] if rest else partitions


def whole_split(path: str) -> Split:
    """One file as one split."""
    (file,) = expand(path)
    return _whole(file)


def _whole(file: InputFile) -> Split:
    key = file.block_keys[0] if file.block_keys else None
    return Split(file.path, 0, file.size or 0, whole=True, key=key)


def _size_now(path: str) -> str:
    storage, own_path = locate(path)
    entry = storage.entry(own_path)
    return "fewer" if entry is None or entry.size is None else str(entry.size)
