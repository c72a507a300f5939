"""Pairs that are sent by key, by the row machine: packed, and dealt out as they come.

Grouping them before a shuffle would take longer than sending all of them does: they are packed in a
fraction of the time that a dict of lists takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain as chained
from itertools import islice
from typing import Any, NamedTuple

from pyrite.bounded.group import drained, group_locally
from pyrite.bounded.space import Space
from pyrite.machine._rows import Program, Table
from pyrite.machine.bytecode import NotTraced
from pyrite.machine.chain import Chain
from pyrite.machine.feed import End, Feed
from pyrite.machine.logsink import LogSink
from pyrite.machine.packed import PackedRows, Undealt
from pyrite.machine.program import build
from pyrite.machine.sinks import Patience

_ROWS_PER_BATCH = 4096
# Rows at a time until it is known how many pairs a row has, and how large they are.
_FIRST_ROWS = 64
# What does not fit into the log cuts the packed rows of all parts: more often, the interpreter goes
# on alone.
_MOST_UNDEALT = 16


class Sending(NamedTuple):
    """How pairs are sent that the machine did not pack: all of them, and a single one."""

    name: str
    rows: Callable[[Iterator[Any], Space], Iterator[Any]]
    row: Callable[[Any], Any]


def deal_behind(
    chain: Chain, space: Space, first: list[Any], row: list[Any], sending: Sending
) -> Iterator[Any]:
    """The chain's pairs: `first` were made already, of the rows up to `row`."""
    feed, sink, patience = Feed(chain.rows), LogSink(), Patience(chain)
    every, refusal = chain.tracing.give_back_every, ""
    try:
        program = build(feed.source(row), chain.steps, sink, chain.alone, every, patience.captures)
    except NotTraced as refused:
        refusal = str(refused)
    chain.say(sending.name, refusal)
    if refusal:
        # Not above: the user's exceptions would have been raised while this one was handled.
        return sending.rows(chained(drained(first), chain.over(feed.rest())), space)
    return DealtPairs(chain, feed, program, patience, sink, space, first, sending)


class DealtPairs:
    """Pairs that can be read once, or be dealt out packed."""

    dealt_by = "hash"

    def __init__(
        self,
        chain: Chain,
        feed: Feed,
        program: Program,
        patience: Patience,
        sink: LogSink,
        space: Space,
        first: list[Any],
        sending: Sending,
    ) -> None:
        self.sending = sending
        self.chain = chain
        self.feed = feed
        self.program = program
        self.patience = patience
        self.layout = sink.layout
        self.space = space
        self._first = first
        assert sink.table is not None
        self.log: Table = sink.table
        self._rows: Iterator[Any] | None = None
        self._undealt = 0
        self._most_bytes = space.chunk_bytes

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._rows is None:
            self._rows = chained.from_iterable(self._batches())
        return next(self._rows)

    def _batches(self) -> Iterator[Any]:
        for each in self._logs(_ROWS_PER_BATCH):
            yield each.rows if isinstance(each, Undealt) else self._taken_rows()

    def _taken_rows(self) -> list[Any]:
        rows = self.log.rows(self.layout, 0, len(self.log))
        self.log.clear()
        return rows

    def deal(self, parts: int, most_rows: int) -> Iterator[list[PackedRows] | Undealt]:
        """The pairs by part, packed, as `portable_hash` deals them, and those between them that the
        interpreter made."""
        for each in self._logs(most_rows):
            if isinstance(each, Undealt):
                yield each
                continue
            dealt = self.log.deal(parts, 0, len(self.log))
            self.log.clear()
            yield [PackedRows(self.layout, *packed) for packed in dealt]

    def _logs(self, most_rows: int) -> Iterator[Undealt | None]:
        """Fills the log; None says that it is to be taken."""
        patience = self.patience
        yield from self._absorb(iter(self._first))
        self._first = []
        step = min(_FIRST_ROWS, most_rows)
        while patience.is_left() and self._undealt <= _MOST_UNDEALT:
            before = len(self.log)
            run = self.feed.advance(self.program, step)
            if run.end == End.EXHAUSTED:
                yield None
                return
            patience.count(run.rows, run.end == End.GIVEN_BACK)
            made = len(self.log) - before
            fitting = min(most_rows, self._fitting_pairs())
            if len(self.log) * 2 >= fitting:
                yield None
            if run.end == End.DONE:
                # A row may have many pairs: no more rows than the log shall have of them.
                left = (fitting - len(self.log)) * run.rows // max(made, 1)
                step = max(1, min(left, step * 8))
                continue
            if run.end == End.FULL:
                yield None
            yield from self._absorb(islice(self.chain.over(run.given_back), run.emitted, None))
        yield None
        yield Undealt(self.sending.rows(self.chain.over(self.feed.rest()), self.space))

    def _fitting_pairs(self) -> int:
        """How many pairs like those in the log take no more memory than it may."""
        return self._most_bytes * max(len(self.log), 1) // self.log.nbytes

    def _absorb(self, pairs: Iterator[Any]) -> Iterator[Undealt | None]:
        """Adds pairs that the interpreter made; others than the log's wait for their turn."""
        put, as_sent = self.log.put, self.sending.row
        for pair in pairs:
            sent = as_sent(pair)
            if put(self.layout, sent):
                continue
            yield None
            # The log may only have been full.
            if not put(self.layout, sent):
                self._undealt += 1
                # The others of the row as well: each cut costs a frame of every part.
                yield Undealt(chained((sent,), map(as_sent, pairs)))


def _as_pair(row: Any) -> tuple[Any, Any]:
    # As a grouping takes it: any two items are a pair, and the first has a hash.
    key, value = row
    hash(key)
    return key, value


GROUPING = Sending("group by key", group_locally, _as_pair)
# As they are.
PLAINLY = Sending("send by key", lambda rows, _: rows, lambda row: row)
