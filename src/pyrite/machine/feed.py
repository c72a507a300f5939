"""The rows that a program runs over: those of an iterator, the ints of a range, the lines of files,
groups, or packed rows."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from pyrite.machine.framerows import Frame, FrameRows, part_of, rows_of
from pyrite.machine.grouprows import GroupRows
from pyrite.machine.linerows import LineRows, lines_of
from pyrite.machine.packed import PackedRows
from pyrite.machine.program import Counted, Lines, Packed, Source, Vectored
from pyrite.machine.values import shape_of

if TYPE_CHECKING:
    from pyrite.machine._rows import Program

_RANGE_ITERATOR = type(iter(range(0)))
_MOST_INT = 1 << 62


class End(IntEnum):
    """How a run of a program ended, by the machine's numbers."""

    DONE = 0
    GIVEN_BACK = 1
    EXHAUSTED = 2
    FULL = 3


class Run(NamedTuple):
    """What became of a run: the rows that Python has to compute, if there are some, and how many of
    their results had arrived before."""

    end: End
    given_back: Iterator[Any]
    emitted: int
    rows: int


class Feed:
    """Rows that are taken by the interpreter and by a program, in turns."""

    def __init__(self, rows: Iterator[Any]) -> None:
        self._rows = rows
        self._range: range | None = None
        self._groups: GroupRows | None = None
        self._blocks: Iterator[bytes] | None = None
        self._frames: Iterator[Frame] | None = None
        self._layout = ""
        # The frame, or block of lines, that is being read, and where its next row, or the next
        # group, begins.
        self._frame: Frame = []
        self._block = b""
        self._at = 0

    def source(self, row: list[Any]) -> Source:
        """What the rows behind this one, in a list, look like."""
        if isinstance(self._rows, GroupRows):
            self._groups, self._at = self._rows, self._rows.read()
            return Vectored(self._rows.layouts)
        if isinstance(self._rows, FrameRows) and self._rows.layout:
            self._layout, self._frames = self._rows.layout, self._rows.rest()
            return Packed(self._layout)
        if isinstance(self._rows, LineRows):
            self._blocks = self._rows.rest()
            return Lines()
        self._range = _range_behind(self._rows)
        return shape_of(row[0]) if self._range is None else Counted()

    def rest(self) -> Iterator[Any]:
        """All that is left."""
        if self._groups is not None:
            # The iterator has nothing left: all is where the groups are.
            return self._groups.from_group(self._at)
        if self._frames is not None:
            opened = part_of(self._frame, self._at, len(self._frame))
            return chain.from_iterable(map(rows_of, chain((opened,), self._frames)))
        if self._blocks is not None:
            behind = chain((self._block[self._at :],), self._blocks)
            return chain.from_iterable(map(lines_of, behind))
        return self._rows if self._range is None else iter(self._range)

    def advance(self, program: Program, most: int) -> Run:
        """Runs a program over as many rows at most."""
        if self._groups is not None:
            return self._advance_groups(program, self._groups, most)
        if self._frames is not None:
            return self._advance_frames(program, self._frames, most)
        if self._blocks is not None:
            return self._advance_lines(program, self._blocks, most)
        if self._range is None:
            end, row, emitted, rows = program.rows(self._rows, most)
            return Run(End(end), iter((row,)), emitted, rows)
        left = self._range
        count = min(len(left), most)
        end, emitted, done = program.count(left.start, left.step, count)
        if end != End.DONE:
            self._range = left[done + 1 :]
            return Run(End(end), iter((left[done],)), emitted, done + 1)
        self._range = left[done:]
        return Run(End.DONE if self._range else End.EXHAUSTED, iter(()), 0, done)

    def _advance_groups(self, program: Program, rows: GroupRows, most: int) -> Run:
        groups, start = rows.groups, self._at
        end, emitted, done = program.groups(groups, start, min(start + most, len(groups)))
        if end != End.DONE:
            self._at = start + done + 1
            row = rows.rows(start + done, self._at)
            return Run(End(end), iter(row), emitted, done + 1)
        self._at = start + done
        return Run(End.DONE if self._at < len(groups) else End.EXHAUSTED, iter(()), 0, done)

    def _advance_frames(self, program: Program, frames: Iterator[Frame], most: int) -> Run:
        taken = 0
        while taken < most:
            frame, start = self._frame, self._at
            if start == len(frame):
                following = next(frames, None)
                self._frame, self._at = following or [], 0
                if following is None:
                    return Run(End.EXHAUSTED, iter(()), 0, taken)
                continue
            stop = min(start + most - taken, len(frame))
            if not isinstance(frame, PackedRows) or frame.layout != self._layout:
                self._at = stop
                rows = rows_of(part_of(frame, start, stop))
                return Run(End.GIVEN_BACK, iter(rows), 0, taken + len(rows))
            words, heap = frame.words, frame.heap
            end, emitted, done = program.packed(self._layout, words, heap, start, stop)
            taken += done
            self._at = start + done
            if end != End.DONE:
                self._at += 1
                row = frame.part(start + done, self._at).rows()
                return Run(End(end), iter(row), emitted, taken + 1)
        return Run(End.DONE, iter(()), 0, taken)

    def _advance_lines(self, program: Program, blocks: Iterator[bytes], most: int) -> Run:
        taken = 0
        while taken < most:
            end, emitted, rows, begin, self._at = program.lines(self._block, self._at, most - taken)
            taken += rows
            if end in (End.GIVEN_BACK, End.FULL):
                line = self._block[begin : self._at].removesuffix(b"\n").decode()
                return Run(End(end), iter((line,)), emitted, taken)
            if end == End.EXHAUSTED:
                self._block, self._at = next(blocks, b""), 0
                if not self._block:
                    return Run(End.EXHAUSTED, iter(()), 0, taken)
        return Run(End.DONE, iter(()), 0, taken)


def _range_behind(rows: Iterator[Any]) -> range | None:
    """The ints that an iterator of a range has left, if all of them fit into registers."""
    if type(rows) is not _RANGE_ITERATOR:
        return None
    reduced: Any = rows.__reduce__()
    _, (whole,), *state = reduced
    left: range = whole[state[0] :] if state and state[0] else whole
    is_small = all(abs(each) < _MOST_INT for each in (left.start, left.stop, left.step))
    return left if is_small else None
