"""Combines the values of each key in a table of the row machine, while keys are ints or text and
combiners are numbers of one layout; else as `aggregate` does."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain as chained
from itertools import islice
from typing import Any

from pyrite.bounded.aggregate import (
    Aggregator,
    Combining,
    combiner_fold,
)
from pyrite.bounded.space import Space
from pyrite.machine._rows import Program, Table
from pyrite.machine.bytecode import NotTraced
from pyrite.machine.captures import Captures
from pyrite.machine.chain import Chain
from pyrite.machine.feed import End, Feed
from pyrite.machine.framerows import FrameRows, rows_of
from pyrite.machine.packed import PackedRows
from pyrite.machine.program import Packed, Source, build
from pyrite.machine.sinks import Patience
from pyrite.machine.tablesink import TableSink
from pyrite.machine.values import shape_of

Rows = Iterator[tuple[Any, Any]]
_ROWS_PER_BATCH = 4096
_BYTES_PER_BATCH = 1 << 20
# What a record takes as Python's objects, by its size in a table.
_OBJECTS_PER_WORD = 8


class TableRows(FrameRows):
    """The records of a table as (key, combiner) rows, which can be read once, or dealt."""

    def __init__(self, table: Table, layout: str) -> None:
        self.table = table
        self.row_layout = layout
        # Keys may be long texts.
        fitting = _BYTES_PER_BATCH * len(table) // table.nbytes
        most_rows = max(1, min(fitting, _ROWS_PER_BATCH))
        super().__init__(dealt for (dealt,) in self.deal(1, most_rows))

    def deal(self, parts: int, most_rows: int) -> Iterator[list[PackedRows]]:
        """The rows by part, packed, as `portable_hash` deals them; so many rows at a time."""
        for start in range(0, len(self.table), most_rows):
            dealt = self.table.deal(parts, start, start + most_rows)
            yield [PackedRows(self.row_layout, words, heap) for words, heap in dealt]


class TableCombining:
    """Combiners by key in a table, which can become a dict at any row."""

    def __init__(self, sink: TableSink, plain: Combining, space: Space) -> None:
        self.sink = sink
        self.plain = plain
        self.space = space
        self.is_plain = False

    @property
    def table(self) -> Table:
        assert self.sink.table is not None
        return self.sink.table

    def take_over(self) -> bool:
        """Moves the combiners that exist into the table; False if one does not fit there."""
        put, layout = self.table.put, self.sink.layout
        if not all(put(layout, item) for item in self.plain.combined.items()):
            return False
        self.plain.combined.clear()
        return True

    def absorb(self, values: Rows) -> None:
        """Adds rows as Python does, until one does not fit into the table; the others wait in
        `values` then."""
        find, put, layout = self.table.find, self.table.put, self.sink.layout
        key_type = str if layout[1] == "s" else int
        for key, value in values:
            if type(key) is not key_type:
                self.become_plain()
                self.plain.fold(self.plain.combined, ((key, value),))
                return
            found = find(layout, key)
            combiner = self.sink.merge(found[1], value) if found else self.sink.create(value)
            if not put(layout, (key, combiner)):
                self.become_plain()
                if found and not self.plain.combined:
                    # The key's combiner is on disk now: once more from the value.
                    combiner = self.sink.create(value)
                self.plain.combined[key] = combiner
                return

    def become_plain(self) -> None:
        """Moves the combiners into a dict, or to disk if they would not fit into memory."""
        self.is_plain = True
        rows = TableRows(self.table, self.sink.layout)
        if self.plain.has_spilled or not self.space.has_room(self.table.nbytes * _OBJECTS_PER_WORD):
            self.spill()
        else:
            self.plain.combined.update(rows)
        self.table.clear()

    def settle(self, is_full: bool) -> None:
        """Moves the combiners to disk where memory is short."""
        if (self.space.over() or is_full) and len(self.table) > 1:
            self.spill()
            self.space.relieved()

    def spill(self) -> None:
        if len(self.table):
            self.plain.spill(iter(TableRows(self.table, self.sink.layout)), len(self.table))
            self.table.clear()

    def results(self) -> Rows:
        if not self.plain.has_spilled:
            return TableRows(self.table, self.sink.layout)
        self.spill()
        return self.plain.results()


def combine_behind(
    chain: Chain, aggregator: Aggregator[Any, Any], plain: Combining, row: list[Any]
) -> Rows:
    """Adds the chain's rows behind the first ones, of which `row` is the last."""
    feed, patience = Feed(chain.rows), Patience(chain)
    sink = TableSink(aggregator.create, aggregator.merge_value)
    tabled = TableCombining(sink, plain, plain.space)
    refusal = ""
    try:
        every = chain.tracing.give_back_every
        program = build(feed.source(row), chain.steps, sink, chain.alone, every, patience.captures)
        if not tabled.take_over():
            raise NotTraced("combiners of several types")
    except NotTraced as refused:
        refusal = str(refused)
    chain.say("combine by key", refusal)
    if refusal:
        # Not above: the user's exceptions would have been raised while this one was handled.
        return plain.run(chain.over(feed.rest()))
    return _run(chain, feed, program, patience, tabled)


def _run(
    chain: Chain, feed: Feed, program: Program, patience: Patience, tabled: TableCombining
) -> Rows:
    while patience.is_left():
        run = feed.advance(program, tabled.space.stride_rows)
        is_full = run.end == End.FULL
        tabled.settle(is_full)
        if run.end == End.EXHAUSTED:
            return tabled.results()
        patience.count(run.rows, run.end == End.GIVEN_BACK)
        if run.end == End.GIVEN_BACK or is_full:
            values = islice(chain.over(run.given_back), run.emitted, None)
            tabled.absorb(values)
            if tabled.is_plain:
                return tabled.plain.run(chained(values, chain.over(feed.rest())))
    tabled.become_plain()
    return tabled.plain.run(chain.over(feed.rest()))


def combine_packed(
    layout: str,
    frames: Iterator[list[Any] | PackedRows],
    aggregator: Aggregator[Any, Any],
    space: Space,
    give_back_every: int = 0,
) -> Rows:
    """Returns one combiner per key from combiners made elsewhere, of which the first are packed."""
    merge = aggregator.merge_combiners
    plain = Combining(combiner_fold(merge), merge, space)
    tabled = TableCombining(TableSink(_same, merge), plain, space)
    merging = None
    with suppress(NotTraced):
        merging = FrameMerging(layout, tabled, give_back_every)
    if merging is None:
        return plain.run(chained.from_iterable(map(rows_of, frames)))
    return merging.run(frames)


class FrameMerging:
    """Merges frames of combiners into a table: packed ones as they are, others row by row."""

    def __init__(self, layout: str, tabled: TableCombining, give_back_every: int) -> None:
        self.layout = layout
        self.tabled = tabled
        self.give_back_every = give_back_every
        self.captures = Captures()
        self.packed = self._program(Packed(layout))
        if tabled.sink.layout != layout:
            raise NotTraced("rows that are not combiners by key")
        self.objects: Program | None = None

    def run(self, frames: Iterator[list[Any] | PackedRows]) -> Rows:
        for frame in frames:
            if isinstance(frame, PackedRows) and frame.layout == self.layout:
                left = self._merge_packed(frame)
            else:
                left = self._merge_rows(rows_of(frame))
            if self.tabled.is_plain:
                rest = chained.from_iterable(map(rows_of, frames))
                return self.tabled.plain.run(chained(left, rest))
        return self.tabled.results()

    def _merge_packed(self, frame: PackedRows) -> Rows:
        """Merges a frame; returns the rows that are left when the table has become a dict."""
        at, count = 0, len(frame)
        while at < count:
            stop = min(count, at + self.tabled.space.stride_rows)
            end, _, done = self.packed.packed(frame.layout, frame.words, frame.heap, at, stop)
            at += done
            self.tabled.settle(end == End.FULL)
            if end == End.DONE:
                continue
            at += 1
            self._absorb(iter(frame.part(at - 1, at).rows()))
            if self.tabled.is_plain:
                return iter(frame.part(at, count).rows())
        return iter(())

    def _merge_rows(self, batch: list[Any]) -> Rows:
        """The same for rows that are objects."""
        rows = iter(batch)
        program = self._object_program(batch)
        while program is not None:
            end, row, _, _ = program.rows(rows, self.tabled.space.stride_rows)
            self.tabled.settle(end == End.FULL)
            if end == End.EXHAUSTED:
                return rows
            if end != End.DONE:
                self._absorb(iter((row,)))
                if self.tabled.is_plain:
                    return rows
        self._absorb(rows)
        return rows

    def _object_program(self, batch: list[Any]) -> Program | None:
        if self.objects is None and batch:
            with contextlib.suppress(NotTraced):
                self.objects = self._program(shape_of(batch[0]))
        return self.objects

    def _program(self, source: Source) -> Program:
        return build(source, [], self.tabled.sink, True, self.give_back_every, self.captures)

    def _absorb(self, rows: Rows) -> None:
        """Merges rows as Python does, which may change what the programs captured."""
        self.tabled.absorb(rows)
        if not self.tabled.is_plain and not self.captures.are_unchanged():
            self.tabled.become_plain()


def _same(value: Any) -> Any:
    return value
