"""Registers: the owner of a path reads and replaces its record, for all clients in one order."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from pyrite.ring.claims import NO_CLAIM
from pyrite.ring.confirmation import Confirmation
from pyrite.ring.errors import NO_MAJORITY
from pyrite.ring.keys import key_of
from pyrite.ring.messages import (
    CompareAndSet,
    Conflict,
    CopyRecord,
    DropRecord,
    Elsewhere,
    Found,
    Listed,
    ListRecords,
    NotReady,
    ReadRecord,
    RecordCopied,
    RingPeer,
    SetDone,
)
from pyrite.ring.record import REMEMBERED_OPS, Record
from pyrite.ring.records import Records
from pyrite.ring.settlement import Settlement
from pyrite.ring.standing import Standing
from pyrite.ring.turn import BEAT_S, RingTurn, nothing

# How long the record of a removed path is kept, so that a repeated removal is recognised.
TOMBSTONE_S = 120.0


@dataclass
class Change:
    """A record that is being copied; clients read the one before it until all copies have it."""

    record: Record
    before: Record
    ticket: Any
    copied: set[str] = field(default_factory=set)
    said_s: float = 0.0


class Registers:
    """The owner's part of reading and writing records, and the copies' part."""

    def __init__(
        self,
        standing: Standing,
        records: Records,
        settlement: Settlement,
        confirmation: Confirmation,
    ) -> None:
        self.standing = standing
        self.records = records
        self.settlement = settlement
        self.confirmation = confirmation
        self._count = 0
        self._changes: dict[str, Change] = {}
        # Requests that wait for the change of their path before them.
        self._queues: dict[str, deque[tuple[Any, CompareAndSet]]] = {}
        self._removed_s: dict[str, float] = {}

    def begin_view(self, turn: RingTurn) -> None:
        """Clients ask the new owners; what was under way is decided by the settlement."""
        self._count = 0
        moved = Elsewhere(self.standing.view)
        for change in self._changes.values():
            turn.answer(change.ticket, moved)
        for queue in self._queues.values():
            for ticket, _ in queue:
                turn.answer(ticket, moved)
        self._changes.clear()
        self._queues.clear()
        self._removed_s.clear()
        self.records.forget_floors()

    def tick(self, turn: RingTurn) -> None:
        for change in self._changes.values():
            if turn.now_s - change.said_s >= BEAT_S:
                self._say(turn, change)
        self._drop_removed(turn)

    def on_settled(self) -> None:
        """Looks for paths that have been removed."""
        if self.standing.view is not None:
            for record in self.records.within(*self.standing.view.range_of(self.standing.me.id)):
                if record.value is None:
                    self._removed_s.setdefault(record.path, 0.0)

    def read(self, turn: RingTurn, ticket: Any, message: ReadRecord) -> None:
        if message.from_copy:
            if self.records.claims.at(key_of(message.path)) == NO_CLAIM:
                turn.answer(ticket, NotReady("this member has no copy of the path"))
            else:
                turn.answer(ticket, Found(self._current(message.path), False))
            return
        if not self._serves(turn, ticket, key_of(message.path)):
            return

        def then(turn: RingTurn, is_confirmed: bool) -> None:
            turn.answer(ticket, Found(self._current(message.path), is_confirmed))

        self.confirmation.ask(turn, then)

    def list_own(self, turn: RingTurn, ticket: Any, message: ListRecords) -> None:
        if message.from_copy:
            turn.answer(ticket, Listed(self._found(message.prefix, is_own=False), False))
            return
        if not self._serves(turn, ticket, None):
            return

        def then(turn: RingTurn, is_confirmed: bool) -> None:
            turn.answer(ticket, Listed(self._found(message.prefix, is_own=True), is_confirmed))

        self.confirmation.ask(turn, then)

    def compare_and_set(self, turn: RingTurn, ticket: Any, message: CompareAndSet) -> None:
        if not self._serves(turn, ticket, key_of(message.path)):
            return
        number = self.standing.number

        def then(turn: RingTurn, is_confirmed: bool) -> None:
            if self.standing.number != number:
                turn.answer(ticket, Elsewhere(self.standing.view))
            elif not is_confirmed:
                turn.answer(ticket, NotReady(NO_MAJORITY))
            else:
                self._queues.setdefault(message.path, deque()).append((ticket, message))
                self._next(turn, message.path)

        self.confirmation.ask(turn, then)

    def on_copy(self, turn: RingTurn, peer: RingPeer, message: CopyRecord) -> None:
        view, record = message
        if not self.standing.is_admitted or self.records.claims.at(key_of(record.path)) != view:
            return
        self.records.put(record)

        def then(turn: RingTurn, is_saved: bool) -> None:
            if is_saved and self.standing.number == view:
                turn.send(peer.address, RecordCopied(view, record.path, record.version))

        self.records.save(turn, then, record.path)

    def on_copied(self, turn: RingTurn, peer: RingPeer, message: RecordCopied) -> None:
        change = self._changes.get(message.path)
        if change is None or change.record.version != message.version:
            return
        change.copied.add(peer.id)
        view = self.standing.view
        assert view is not None
        if any(each.id not in change.copied for each in view.copies(key_of(message.path))):
            return
        del self._changes[message.path]
        if change.record.value is None:
            self._removed_s[message.path] = turn.now_s
        turn.answer(change.ticket, SetDone(change.record.version))
        self._next(turn, message.path)

    def on_drop(self, turn: RingTurn, message: DropRecord) -> None:
        self.records.drop(message.path, message.version)
        self.records.save(turn, nothing, message.path)

    def _serves(self, turn: RingTurn, ticket: Any, key: int | None) -> bool:
        if not self.standing.is_admitted or (key is not None and not self.standing.owns(key)):
            turn.answer(ticket, Elsewhere(self.standing.view))
        elif not self.settlement.is_settled:
            why = "copies of this range are being compared"
            if self.settlement.lacks_source:
                why = "no member that is there has all of this range: start those that had it"
            turn.answer(ticket, NotReady(why))
        else:
            return True
        return False

    def _next(self, turn: RingTurn, path: str) -> None:
        """Answers the requests for a path up to the next change."""
        queue = self._queues.get(path, deque())
        while queue and path not in self._changes:
            ticket, message = queue.popleft()
            known = self.records.get(path)
            if message.op in known.ops:
                turn.answer(ticket, SetDone(known.version))
            elif message.expected != known.version:
                turn.answer(ticket, Conflict(known))
            else:
                self._count += 1
                ops = (*known.ops, message.op)[-REMEMBERED_OPS:]
                version = self.standing.number, self._count
                record = Record(path, version, message.value, ops)
                self._changes[path] = Change(record, known, ticket)
                self._removed_s.pop(path, None)
                self._say(turn, self._changes[path])
        if not queue:
            self._queues.pop(path, None)

    def _say(self, turn: RingTurn, change: Change) -> None:
        change.said_s = turn.now_s
        view = self.standing.view
        assert view is not None
        for each in view.copies(key_of(change.record.path)):
            if each.id not in change.copied:
                turn.send(each.address, CopyRecord(view.number, change.record))

    def _current(self, path: str) -> Record:
        change = self._changes.get(path)
        return self.records.get(path) if change is None else change.before

    def _found(self, prefix: str, is_own: bool) -> list[Record]:
        return [
            self._current(path)
            for path in self.records.paths(prefix)
            if not is_own or self.standing.owns(key_of(path))
        ]

    def _drop_removed(self, turn: RingTurn) -> None:
        view = self.standing.view
        for path, since_s in list(self._removed_s.items()):
            if since_s == 0.0:
                self._removed_s[path] = turn.now_s
            elif turn.now_s - since_s > TOMBSTONE_S and view is not None:
                del self._removed_s[path]
                record = self.records.get(path)
                for each in view.copies(key_of(path)):
                    turn.send(each.address, DropRecord(view.number, path, record.version))
