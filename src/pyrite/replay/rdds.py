"""RDDs of a story, to be queried: their rows are computed when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from pyrite.replay.recording import Operator
from pyrite.replay.replayer import Replayer
from pyrite.story.happenings import counted


class ReplayedRdd:
    """An RDD of the program that wrote the story, with the actions that PySpark's has."""

    def __init__(self, replayer: Replayer, operator: Operator) -> None:
        self._replayer = replayer
        self._operator = operator
        stage = replayer.recording.stage(operator.stage)
        self._count: int = stage.rdds[operator.place]["partitions"]

    def __repr__(self) -> str:
        operator = self._operator
        site = f" at {operator.site}" if operator.site else ""
        return (
            f"RDD {operator.label}: {operator.title}{site}, {counted(self._count, 'partition')}, "
            f"computed in stage {operator.stage}"
        )

    @property
    def label(self) -> str:
        """How it is asked for: by its id in the program, or as STAGE.OPERATOR."""
        return self._operator.label

    def getNumPartitions(self) -> int:
        """How many partitions it has."""
        return self._count

    def partition(self, index: int) -> Iterator[Any]:
        """The rows of one partition."""
        self._prepare(range(index, index + 1))
        return self._replayer.rows(self._operator, index)

    def rows(self) -> Iterator[tuple[int, Any]]:
        """All rows, each with its partition; later partitions are computed when they are
        reached."""
        for index in range(self._count):
            # The first one alone: often it is enough.
            self._prepare(range(1) if index == 0 else range(self._count))
            for row in self._replayer.rows(self._operator, index):
                yield index, row

    def take(self, num: int) -> list[Any]:
        """The first rows."""
        return [row for _, row in islice(self.rows(), num)]

    def first(self) -> Any:
        """The first row."""
        for row in self.take(1):
            return row
        raise ValueError("RDD is empty")

    def collect(self) -> list[Any]:
        """All rows."""
        return [row for index in self._all() for row in self._replayer.rows(self._operator, index)]

    def glom(self) -> list[list[Any]]:
        """The rows of each partition."""
        return [list(self._replayer.rows(self._operator, index)) for index in self._all()]

    def count(self) -> int:
        """How many rows it has."""
        rows = self._replayer.rows
        return sum(sum(1 for _ in rows(self._operator, index)) for index in self._all())

    def _all(self) -> range:
        self._prepare(range(self._count))
        return range(self._count)

    def _prepare(self, partitions: range) -> None:
        self._replayer.prepare(self._operator.stage, partitions, self._operator)

    @property
    def lineage(self) -> LineageText:
        """What it was made of, back to the sources."""
        return LineageText(self._replayer, self._operator)


class LineageText:
    """What an RDD was made of, one operator a line; a shuffle is a step further in."""

    def __init__(self, replayer: Replayer, operator: Operator) -> None:
        self._replayer = replayer
        self._operator = operator

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        found: list[str] = []
        seen: set[tuple[int, int]] = set()
        pending = [(self._operator.stage, self._operator.place, self._operator.number, 0)]
        while pending:
            stage, place, number, depth = pending.pop()
            state = self._replayer.recording.stage(stage)
            told = self._replayer.recording.operators(state)[place]
            indent = "  " * depth
            if (stage, place) in seen:
                found.append(f"{indent}(as above) {line_of(told[-1])}")
                continue
            seen.add((stage, place))
            end = len(told) - 1 if number < 0 else number
            found += [f"{indent}{line_of(each)}" for each in reversed(told[: end + 1])]
            for each in reversed(state.rdds[place]["inputs"]):
                if "shuffle" in each:
                    writer = self._replayer.writing(each["shuffle"])
                    pending.append((writer.id, len(writer.rdds) - 1, -1, depth + 1))
                else:
                    pending.append((stage, each["place"], -1, depth))
        return found


def line_of(operator: Operator) -> str:
    site = f" at {operator.site}" if operator.site else ""
    return f"({operator.label}) {operator.title}{site}, stage {operator.stage}"
