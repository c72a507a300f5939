"""Rows of frames, some of them packed, as objects or as frames."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from operator import length_hint
from typing import Any, TypeAlias

from pyrite.machine.packed import PackedRows
from pyrite.machine.records import PackedRecords

Frame: TypeAlias = list[Any] | PackedRows
AnyFrame: TypeAlias = Frame | PackedRecords


class FrameRows:
    """Rows that can be read one by one, by C code alone; the rest of them can be had as frames."""

    def __init__(self, frames: Iterator[AnyFrame]) -> None:
        self._frames = frames
        self._frame: AnyFrame = []
        self._batch: Iterator[Any] = iter(())
        self._rows = chain.from_iterable(self._opened())

    def _opened(self) -> Iterator[Iterator[Any]]:
        for frame in self._frames:
            self._frame = frame
            self._batch = iter(rows_of(frame))
            yield self._batch

    def __iter__(self) -> Iterator[Any]:
        # Not this object: whoever iterates shall not run Python for each row.
        return self._rows

    def __next__(self) -> Any:
        return next(self._rows)

    @property
    def layout(self) -> str:
        """The layout of the frame that was read last; empty if it was not packed."""
        return self._frame.layout if isinstance(self._frame, PackedRows) else ""

    def rest(self) -> Iterator[Frame]:
        """The rows that were not read yet; they can't be had as rows any more."""
        return map(without_records, self.rest_with_records())

    def rest_with_records(self) -> Iterator[AnyFrame]:
        """The same, where records stay packed, too."""
        left = length_hint(self._batch)
        if left == 0:
            return self._frames
        if left == len(self._frame):
            return chain((self._frame,), self._frames)
        frame = without_records(self._frame)
        return chain((part_of(frame, len(frame) - left, len(frame)),), self._frames)


def rows_of(frame: AnyFrame) -> list[Any]:
    """The rows of a frame."""
    return frame if isinstance(frame, list) else frame.rows()


def without_records(frame: AnyFrame) -> Frame:
    """A frame whose rows are in a list if they are records."""
    return frame.rows() if isinstance(frame, PackedRecords) else frame


def part_of(frame: Frame, start: int, stop: int) -> Frame:
    """The rows of a frame from one number up to another."""
    return frame.part(start, stop) if isinstance(frame, PackedRows) else frame[start:stop]
