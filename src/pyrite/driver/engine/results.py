"""Results of tasks, read batch by batch."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from pyrite.blocks.codec import CorruptBlock, decode, frame_checksum, split_frames
from pyrite.errors import ClusterError, UserError
from pyrite.ids import BlockRef
from pyrite.interrupts import Interruptible

Result = bytes | tuple[BlockRef, ...] | None
# What becomes of a result's batches of rows.
Read = Callable[[Iterable[list[Any]]], Any]


class ResultLost(ClusterError):
    """A task's result was lost with its node before the driver read it."""


def result_blocks(result: Result) -> tuple[BlockRef, ...]:
    return result if isinstance(result, tuple) else ()


def result_bytes(result: Result) -> int:
    if isinstance(result, bytes):
        return len(result)
    return sum(ref.length for ref in result_blocks(result))


def only_row(batches: Iterable[list[Any]]) -> Any:
    """The result of a task that returns one value."""
    [[row]] = batches
    return row


def all_rows(batches: Iterable[list[Any]]) -> list[Any]:
    return list(chain.from_iterable(batches))


class ResultBatches:
    """The rows of a result, frame by frame; each of its blocks is freed when it has been read."""

    def __init__(
        self,
        result: Result,
        open_block: Callable[[BlockRef], memoryview],
        release: Callable[[list[BlockRef]], None],
    ) -> None:
        self._blocks = deque(result_blocks(result))
        self._open_block = open_block
        self._release = release
        self._frames = split_frames(result if isinstance(result, bytes) else b"")
        # Of the frames that were returned.
        self.checksums: list[int] = []

    def __iter__(self) -> Iterator[list[Any]]:
        return self

    def __next__(self) -> list[Any]:
        while (batch := self._decode()) is None:
            self._next_block()
        return batch

    def close(self) -> None:
        """Frees the blocks that have not been read."""
        left = list(self._blocks)
        self._blocks.clear()
        self._release(left)

    def _next_block(self) -> None:
        if not self._blocks:
            raise StopIteration
        self._frames = self._read(self._blocks[0])

    def _read(self, ref: BlockRef) -> Iterator[memoryview]:
        try:
            yield from split_frames(self._open_block(ref))
        except OSError as error:
            raise ResultLost(f"a task's result can't be read any more: {error}") from error
        # Not before its frames are read: they lie in its memory.
        self._blocks.popleft()
        self._release([ref])

    def _decode(self) -> list[Any] | None:
        try:
            with Interruptible():
                frame = next(self._frames, None)
                if frame is None:
                    return None
                # The user may write to arrays.
                rows = decode(frame, writable=True)
        except CorruptBlock as error:
            raise ResultLost(f"a task's result is corrupt: {error}") from error
        except (MemoryError, ClusterError):
            raise
        except Exception as error:
            raise UserError(
                f"a task's result can't be unpickled in the driver: {type(error).__name__}: "
                f"{error}; return plain data, or objects whose class loads here too"
            ) from error
        self.checksums.append(frame_checksum(frame))
        return rows
