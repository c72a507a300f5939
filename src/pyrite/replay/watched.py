"""Operators that run one by one and remember which record each of them has in hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from itertools import repeat
from types import BuiltinFunctionType
from typing import Any

from pyrite.bounded.aggregate import Aggregator
from pyrite.machine.chain import Chain
from pyrite.machine.packed import PackedRows
from pyrite.rdd.fuse import Step
from pyrite.rdd.narrow import RecordOp, SortLocally, Union
from pyrite.rdd.op import Env, Input, Op
from pyrite.rdd.partitioner import Router
from pyrite.replay.recording import Operator

NOTHING: Any = type("Nothing", (), {"__repr__": lambda _: "no record"})()


class RecordWatch:
    """What one operator has in hand: the record it took last."""

    __slots__ = ("operator", "partition", "record", "what")

    def __init__(self, operator: Operator, partition: int, what: str = "") -> None:
        self.operator = operator
        self.partition = partition
        self.record = NOTHING
        # What is done with the record, where that is not the operator itself.
        self.what = what


class WatchedFunction:
    """The function of a record operator, and the watch of the operator."""

    __slots__ = ("function", "watch")

    def __init__(self, function: Any, watch: RecordWatch) -> None:
        self.function = function
        self.watch = watch


def run_watched(rows: Iterable[Any], steps: list[Step]) -> Iterator[Any]:
    """Runs record operators over rows, record by record and one operator after another.

    In one frame, however many operators there are: `watch` is that of the running one, and `record`
    is what it has in hand. `row` is the record that the first of them took.
    """
    watch: RecordWatch | None = None
    for row in rows:
        # Records on their way, with the number of the operator that is next.
        pending: list[tuple[int, Iterator[Any]]] = [(0, iter((row,)))]
        while pending:
            number, records = pending[-1]
            watch = steps[number - 1][1].watch if number else None
            record = next(records, NOTHING)
            if record is NOTHING:
                pending.pop()
                continue
            while number < len(steps):
                kind, step = steps[number]
                function, watch = step.function, step.watch
                watch.record = record
                number += 1
                if kind == "map":
                    record = function(record)
                elif kind == "filter":
                    if not function(record):
                        break
                elif kind == "mapValues":
                    record = (record[0], function(record[1]))
                elif kind == "keyBy":
                    record = (function(record), record)
                elif kind == "keys":
                    record = record[0]
                elif kind == "values":
                    record = record[1]
                elif kind == "flatMap":
                    pending.append((number, iter(function(record))))
                    break
                else:
                    assert kind == "flatMapValues", kind
                    pending.append((number, zip(repeat(record[0]), function(record[1]))))
                    break
            else:
                watch = None
                yield record
        watch = None


class Noted:
    """An input whose records are noted as the operator takes them, one by one."""

    def __init__(self, source: Input, watch: RecordWatch) -> None:
        self.source = source
        self.watch = watch

    def rows(self) -> Iterator[Any]:
        return noted(self.source.rows(), self.watch)

    def batches(self) -> Iterator[list[Any]]:
        # Of one row, so that the row in hand is known.
        return ([row] for row in self.rows())

    def frames(self) -> Iterator[list[Any] | PackedRows]:
        return self.batches()

    def chain(self) -> Chain:
        return Chain(self.rows(), [], run_watched)


def noted(rows: Iterable[Any], watch: RecordWatch) -> Iterator[Any]:
    """The rows; the watch has the one that was taken last."""
    for watch.record in rows:
        yield watch.record


def run_operator(
    watch: RecordWatch, op: Op, index: int, inputs: list[Input], env: Env
) -> Iterator[Any]:
    """The rows of an operator; its frame tells a traceback whose they are."""
    yield from op.compute(index, inputs, env)


def run_merge(watch: RecordWatch, op: Op, pieces: list[Iterator[Any]], env: Env) -> Iterator[Any]:
    """The rows of an operator whose work was divided, from those of the pieces."""
    yield from op.merge(pieces, env)


class WatchedOp:
    """An operator whose inputs and functions are watched."""

    def __init__(self, op: Op, watch: RecordWatch) -> None:
        self.op = watched_functions(op, watch)
        self.watch = watch

    def compute(self, index: int, inputs: list[Input], env: Env) -> Iterator[Any]:
        watch = self.watch
        return run_operator(watch, self.op, index, [Noted(each, watch) for each in inputs], env)

    def merge(self, pieces: list[Iterator[Any]], env: Env) -> Iterator[Any]:
        taken = [noted(each, self.watch) for each in pieces]
        return run_merge(self.watch, self.op, taken, env)


class Called:
    """A function of the user's; its frame has what it was called with."""

    def __init__(self, function: Callable[..., Any], watch: RecordWatch) -> None:
        self.function = function
        self.watch = watch

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)


class SortKey:
    """Gives rows comparable keys that know their row."""

    def __init__(self, key: Callable[[Any], Any] | None, watch: RecordWatch) -> None:
        self.key = key
        self.watch = watch

    def __call__(self, row: Any) -> ComparedKey:
        record = self.watch.record = row
        return ComparedKey(record if self.key is None else self.key(record), record, self.watch)


class ComparedKey:
    """A key to sort by; keys that can't be compared lead to both rows."""

    __slots__ = ("key", "row", "watch")

    def __init__(self, key: Any, row: Any, watch: RecordWatch) -> None:
        self.key = key
        self.row = row
        self.watch = watch

    def __lt__(self, other: ComparedKey) -> bool:
        return bool(self.key < other.key)


def watched_functions(op: Op, watch: RecordWatch) -> Op:
    """The operator, which is this task's own, with its functions of the user's watched."""
    if isinstance(op, SortLocally):
        op.key = SortKey(op.key, watch)
        return op
    for name, value in vars(op).items():
        if isinstance(value, Aggregator):
            functions = {
                each.name: Called(getattr(value, each.name), watch)
                for each in dataclasses.fields(value)
            }
            setattr(op, name, Aggregator(**functions))
    return op


def watched_op(op: Op, watch: RecordWatch) -> Any:
    """An operator as the evaluator takes it."""
    if type(op) is RecordOp:
        return RecordOp(op.kind, WatchedFunction(op.function, watch))  # type: ignore[arg-type]
    # It has no rows of its own.
    return op if type(op) is Union else WatchedOp(op, watch)


def watched_action(work: Any, watch: RecordWatch) -> Any:
    """An action whose functions of the user's are watched."""
    if type(work) is not partial:
        return work
    arguments = [
        Called(each, watch) if callable(each) and not isinstance(each, PLAIN) else each
        for each in work.args
    ]
    return partial(work.func, *arguments, **work.keywords)


# Builtins are known by identity, and values may be classes.
PLAIN = (type, BuiltinFunctionType)


class WatchedRouter(Router):
    """Deals rows one by one, and keeps those for some of the reducers."""

    kind = "custom"

    def __init__(self, router: Router, wanted: Collection[int], watch: RecordWatch) -> None:
        self.router = router
        self.wanted = wanted
        self.watch = watch

    def start(self, index: int) -> None:
        self.router.start(index)

    def deal(self, rows: list[Any], buckets: list[list[Any]]) -> None:
        watch = self.watch
        dealt: list[list[Any]] = [[] for _ in buckets]
        for record in rows:
            watch.record = record
            self.router.deal([record], dealt)
        for part in self.wanted:
            buckets[part] += dealt[part]
