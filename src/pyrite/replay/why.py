"""The source rows behind rows of an RDD: a question about rows is passed down its lineage.

Each operator turns "which rows of mine?" into "which rows of my inputs?". Of a record operator
these are the rows that it makes wanted ones of; of an operator by key, those with the same keys.
Functions of whole partitions can't be looked into: all rows of the partition are behind theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from pyrite.execute.worker import MapWork
from pyrite.plan.program import NarrowInput, ShuffleInput
from pyrite.rdd.narrow import (
    Cartesian,
    CombineLocally,
    Concat,
    DistinctLocally,
    GroupLocally,
    Numbered,
    PartitionOp,
    RecordOp,
    SortLocally,
    Union,
    Zip,
)
from pyrite.rdd.op import Op
from pyrite.rdd.partitioner import Router, Spread
from pyrite.rdd.sources import Files, Ranges, Slices
from pyrite.rdd.wide import CoGrouped, Combined, Grouped, Joined, Shuffled
from pyrite.replay.recording import Operator
from pyrite.replay.replayer import Replayer
from pyrite.replay.watched import RecordWatch, WatchedFunction, run_watched

Wanted = Callable[[Any], bool]

SOURCES = (Slices, Ranges, Files)
SAME_ROWS = (SortLocally, Shuffled, Union, Concat)
BY_KEY = (CombineLocally, GroupLocally, Combined, Grouped, Joined, CoGrouped)
PAIRING = (Zip, Cartesian)


class SourceRow(NamedTuple):
    """A row as a source gave it: its partition, and its number in the partition."""

    operator: Operator
    partition: int
    number: int
    row: Any
    # The files that the partition is read from.
    files: tuple[str, ...] = ()


class KeyIn:
    """Rows with one of these keys."""

    def __init__(self, keys: Iterable[Any]) -> None:
        self.keys = set(keys)

    def __call__(self, row: Any) -> bool:
        return isinstance(row, tuple) and len(row) > 0 and hashable_in(row[0], self.keys)


class OneOf:
    """Rows that are equal to one of these."""

    def __init__(self, rows: Iterable[Any]) -> None:
        self.rows = list(rows)

    def __call__(self, row: Any) -> bool:
        return any(same(row, each) for each in self.rows)


def hashable_in(key: Any, keys: set[Any]) -> bool:
    try:
        return key in keys
    except TypeError:
        return False


def same(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:
        # Such as arrays, whose comparison is an array.
        return one is other


def every_row(row: Any) -> bool:
    return True


class SourcesBehind:
    """Finds source rows; `notes` says where it could not look closely."""

    def __init__(self, replayer: Replayer) -> None:
        self.replayer = replayer
        self.notes: dict[str, None] = {}

    def rows(
        self, operator: Operator, partitions: Iterable[int], wanted: Wanted
    ) -> Iterator[SourceRow]:
        """The source rows behind the wanted rows of an operator."""
        pending = [(operator, tuple(sorted(set(partitions))), wanted)]
        while pending:
            at, indices, question = pending.pop()
            op = self._load(at)
            if isinstance(op, SOURCES):
                yield from self._listed(at, op, indices, question)
                continue
            indices, questions = self._pass_down(at, op, indices, question)
            below = self._below(at, indices, questions)
            pending.extend(reversed(below))

    def _load(self, at: Operator) -> Op:
        return self.replayer.program(at.stage).load().of(at.place)[at.number]

    def _pass_down(
        self, at: Operator, op: Op, indices: tuple[int, ...], wanted: Wanted
    ) -> tuple[tuple[int, ...], list[Wanted]]:
        """The question for each input, and the partitions that it is about."""
        inputs = max(1, len(self._step(at).inputs))
        if isinstance(op, RecordOp):
            return indices, [through(op, at, wanted)]
        if isinstance(op, SAME_ROWS):
            return indices, [wanted] * inputs
        if isinstance(op, DistinctLocally):
            return indices, [lambda row: wanted((row, None))]
        if isinstance(op, BY_KEY):
            if not isinstance(wanted, KeyIn):
                wanted = KeyIn(row[0] for _, row in self._made(at, indices, wanted))
            return indices, [wanted] * inputs
        made = self._made(at, indices, wanted)
        if isinstance(op, PAIRING):
            return indices, [OneOf(row[side] for _, row in made) for side in (0, 1)]
        if isinstance(op, Numbered):
            return indices, [OneOf(row[0] for _, row in made)]
        if isinstance(op, PartitionOp):
            self.notes[
                f"{at.title} at {at.site} takes whole partitions: all rows of them are listed"
            ] = None
            return tuple(sorted({index for index, _ in made})), [every_row]
        self.notes[f"{at.title} can't be looked into: all rows that it read are listed"] = None
        return indices, [every_row] * inputs

    def _made(
        self, at: Operator, indices: tuple[int, ...], wanted: Wanted
    ) -> list[tuple[int, Any]]:
        """The wanted rows of an operator."""
        self.replayer.prepare(at.stage, indices, at)
        return [
            (index, row)
            for index in indices
            for row in self.replayer.rows(at, index)
            if wanted(row)
        ]

    def _step(self, at: Operator) -> Any:
        return self.replayer.program(at.stage).layout.steps[at.place]

    def _below(
        self, at: Operator, indices: tuple[int, ...], questions: list[Wanted]
    ) -> list[tuple[Operator, tuple[int, ...], Wanted]]:
        """The operators that make the inputs of one, with their questions."""
        program = self.replayer.program(at.stage)
        if at.number > 0:
            return [(program.operators[at.place][at.number - 1], indices, questions[0])]
        step = self._step(at)
        found = []
        for number, each in enumerate(step.inputs):
            question = questions[min(number, len(questions) - 1)]
            if isinstance(each, ShuffleInput):
                found.append(self._behind_shuffle(each, indices, question, step.partitions))
                continue
            assert isinstance(each, NarrowInput)
            parents = {one for index in indices for one in each.mapping.parents(index)}
            if parents:
                last = program.operators[each.step][-1]
                found.append((last, tuple(sorted(parents)), question))
        return found

    def _behind_shuffle(
        self, shuffle: ShuffleInput, indices: tuple[int, ...], wanted: Wanted, parts: int
    ) -> tuple[Operator, tuple[int, ...], Wanted]:
        writer = self.replayer.writing(shuffle.shuffle)
        program = self.replayer.program(writer.id)
        work: MapWork = program.load().work()
        if len(indices) < parts and not isinstance(wanted, KeyIn):
            wanted = dealt_to(work.router, work.parts, set(indices), wanted)
        return program.operators[-1][-1], tuple(range(writer.partitions)), wanted

    def _listed(
        self, at: Operator, op: Op, indices: tuple[int, ...], wanted: Wanted
    ) -> Iterator[SourceRow]:
        for index in indices:
            files: tuple[str, ...] = ()
            if isinstance(op, Files):
                files = tuple(dict.fromkeys(split.path for split in op.slices[index]))
            for number, row in enumerate(self.replayer.rows(at, index)):
                if wanted(row):
                    yield SourceRow(at, index, number, row, files)


def through(op: RecordOp, at: Operator, wanted: Wanted) -> Wanted:
    """The rows that a record operator makes wanted ones of."""
    watch = RecordWatch(at, 0)
    steps = [(op.kind, WatchedFunction(op.function, watch))]

    def makes_wanted(row: Any) -> bool:
        try:
            return any(wanted(made) for made in run_watched((row,), steps))
        except Exception:
            # It made nothing of this row.
            return False

    return makes_wanted


def dealt_to(router: Router, parts: int, some: set[int], wanted: Wanted) -> Wanted:
    """The wanted rows that go to some of the reducers."""
    if isinstance(router, Spread):
        # It deals by the position of a row.
        return wanted

    def is_dealt_to(row: Any) -> bool:
        buckets: list[list[Any]] = [[] for _ in range(parts)]
        router.deal([row], buckets)
        return any(buckets[part] for part in some) and wanted(row)

    return is_dealt_to
