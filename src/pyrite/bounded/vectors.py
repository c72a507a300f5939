"""Packed pairs as one vector per key, by the row machine: groups, and the sides of joins and
cogroups."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain as chained
from typing import Any, NamedTuple

from pyrite.bounded.group import Values, group_values
from pyrite.bounded.space import MOST_ROWS_PER_STRIDE, Space
from pyrite.machine._rows import CoGroups, Groups
from pyrite.machine.bytecode import NotTraced
from pyrite.machine.framerows import Frame, part_of, rows_of
from pyrite.machine.grouprows import GroupRows
from pyrite.machine.packed import MOST_WORDS, PackedRows
from pyrite.machine.sinks import layout_of_object
from pyrite.machine.values import kinds_of

Frames = Iterator[Frame]
_ROWS_PER_BATCH = 4096
# Texts may be long, and memory is short where they are made objects.
_TEXTS_PER_BATCH = 8


class Side(NamedTuple):
    """All pairs of one side, by key, before they are made vectors."""

    layout: str
    groups: Groups

    def batches(self) -> Iterator[list[Any]]:
        """The pairs as they came."""
        size = _TEXTS_PER_BATCH if "s" in self.layout else _ROWS_PER_BATCH
        for start in range(0, self.groups.values, size):
            yield self.groups.rows(self.layout[2:-1], start, start + size)


def gather(frames: Frames, space: Space) -> Side | Iterator[list[Any]]:
    """Gathers the pairs of frames; where one has others than the first, or memory is short, all of
    them come back as batches."""
    first = next(frames, [])
    layout = _layout_of(first)
    frames = chained((first,), frames)
    if not layout:
        return map(rows_of, frames)
    side, taken = Side(layout, Groups(layout)), 0
    for frame in frames:
        done = _add(side, frame)
        taken += done + _bytes_of(frame) * MOST_ROWS_PER_STRIDE // space.chunk_bytes
        if done < len(frame):
            rest = part_of(frame, done, len(frame))
            return chained(side.batches(), map(rows_of, chained((rest,), frames)))
        if taken >= MOST_ROWS_PER_STRIDE:
            taken = 0
            if space.over():
                return chained(side.batches(), map(rows_of, frames))
    return side


def _add(side: Side, frame: Frame) -> int:
    if not isinstance(frame, PackedRows):
        return side.groups.put(side.layout, frame)
    if frame.layout != side.layout:
        return 0
    return side.groups.add(side.layout, frame.words, frame.heap)


def _bytes_of(frame: Frame) -> int:
    return len(frame.words) + len(frame.heap) if isinstance(frame, PackedRows) else 0


def _layout_of(frame: Frame) -> str:
    """The layout of pairs whose keys are ints or text, and whose values are numbers and texts;
    empty for other rows."""
    if isinstance(frame, PackedRows):
        layout = frame.layout
    else:
        try:
            layout = _layout_of_pair(frame[0]) if frame else ""
        except NotTraced:
            return ""
    is_keyed = layout[:2] in ("(i", "(s") and 1 < len(kinds_of(layout)) <= MOST_WORDS
    return layout if is_keyed and "[" not in layout else ""


def _layout_of_pair(row: Any) -> str:
    if type(row) is not tuple or len(row) != 2 or type(row[0]) not in (int, str):
        return ""
    key = "s" if type(row[0]) is str else "i"
    return f"({key}{layout_of_object(row[1])})"


def closed(sides: list[Side], space: Space) -> bool:
    """Makes the vectors of all sides; False where there is no memory for them, and nothing has
    changed."""
    if not space.has_room(sum(each.groups.vector_bytes for each in sides)):
        return False
    if not all(each.groups.reserve() for each in sides):
        return False
    for each in sides:
        each.groups.close()
    return True


def group_packed(frames: Frames, space: Space) -> Iterator[tuple[Any, Values[Any]]]:
    """Returns all values of each key of frames, of which the first is packed."""
    side = gather(frames, space)
    if not isinstance(side, Side):
        return group_values(side, space)
    if not closed([side], space):
        return group_values(side.batches(), space)
    return rows_of_sides([side])


def rows_of_sides(sides: list[Side]) -> GroupRows:
    """The keys of closed sides with their values."""
    groups = CoGroups(tuple(each.groups for each in sides))
    values = sum(each.groups.values for each in sides)
    return GroupRows(groups, tuple(each.layout for each in sides), values)
