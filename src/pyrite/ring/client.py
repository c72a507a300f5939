"""A client of a ring: how to find the owner of a path, and what to do when it doesn't answer.

The methods are generators: they yield what to ask, and are sent the replies. So the same code runs
over sockets and in the simulator.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, NamedTuple, TypeVar

from pyrite.ring.errors import RingUnavailable
from pyrite.ring.fingers import Fingers
from pyrite.ring.keys import key_of
from pyrite.ring.messages import (
    AskView,
    ClientReply,
    ClientRequest,
    CompareAndSet,
    Conflict,
    Elsewhere,
    Found,
    Listed,
    ListRecords,
    NotReady,
    ReadRecord,
    SetDone,
)
from pyrite.ring.record import Record, Version
from pyrite.ring.views import RingMember, RingView

T = TypeVar("T")
# A failure takes two seconds to be noticed, and about another until the next view is settled.
# Who can't confirm a read for longer than this takes what a copy says.
UNCONFIRMED_S = 6.0
PATIENCE_S = 20.0
PAUSE_S = 0.1


class AskMembers(NamedTuple):
    """Ask these at once; the replies come in the same order, None where none came."""

    requests: list[tuple[str, ClientRequest]]


class Pause(NamedTuple):
    """Wait a while."""

    seconds: float


Steps = Generator[AskMembers | Pause, Any, T]


class RingClient:
    """Reads and replaces records, wherever they lie."""

    def __init__(
        self, addresses: list[str], now: Callable[[], float], patience_s: float = PATIENCE_S
    ) -> None:
        self.addresses = addresses
        self.view: RingView | None = None
        self.now = now
        self.patience_s = patience_s

    def refresh(self) -> Steps[RingView]:
        """The newest view that anybody tells of."""
        until_s = self.now() + self.patience_s
        while True:
            known = [] if self.view is None else [each.address for each in self.view.members]
            asked = list(dict.fromkeys((*known, *self.addresses)))
            replies = yield AskMembers([(address, AskView()) for address in asked])
            for reply in replies:
                self._learn(reply)
            if self.view is not None and any(isinstance(each, Elsewhere) for each in replies):
                return self.view
            if self.now() >= until_s:
                raise RingUnavailable(f"no member of the ring answers at {', '.join(asked)}")
            yield Pause(PAUSE_S)

    def current(self) -> Steps[RingView]:
        """A view, be it the last one or not."""
        return self.view if self.view is not None else (yield from self.refresh())

    def read(self, path: str) -> Steps[Found]:
        """The record of a path, confirmed if there is a majority."""
        began_s = self.now()
        while self.now() < began_s + UNCONFIRMED_S:
            view = yield from self.current()
            owner = _owner(view, path)
            [reply] = yield AskMembers([(owner.address, ReadRecord(view.number, path))])
            if isinstance(reply, Found) and reply.is_confirmed:
                return reply
            yield from self._again(reply)
        while True:
            view = yield from self.refresh()
            question = ReadRecord(view.number, path, from_copy=True)
            copies = view.copies(key_of(path))
            replies = yield AskMembers([(each.address, question) for each in copies])
            found = [reply for reply in replies if isinstance(reply, Found)]
            if found:
                return max(found, key=lambda reply: reply.record.version)
            if self.now() > began_s + self.patience_s:
                raise RingUnavailable(f"no member that has a copy of {path} answers")
            yield Pause(PAUSE_S)

    def compare_and_set(
        self, path: str, expected: Version, value: object, op: str
    ) -> Steps[SetDone | Conflict]:
        """Replaces a record; repeated until the outcome is known."""
        until_s = self.now() + self.patience_s
        is_unsure = False
        why = "its owner does not answer"
        try:
            while self.now() < until_s:
                view = yield from self.current()
                request = CompareAndSet(view.number, path, expected, value, op)
                [reply] = yield AskMembers([(_owner(view, path).address, request)])
                if isinstance(reply, SetDone | Conflict):
                    return reply
                if isinstance(reply, NotReady):
                    why = reply.reason
                else:
                    is_unsure = True
                yield from self._again(reply)
        except RingUnavailable as error:
            why = str(error)
        if is_unsure:
            why += "; it may have happened all the same"
        raise RingUnavailable(f"can't write {path}: {why}", maybe_done=is_unsure)

    def list(self, prefix: str) -> Steps[tuple[dict[str, Record], bool]]:
        """The records whose paths start so, and whether a majority confirmed them."""
        began_s = self.now()
        while self.now() < began_s + UNCONFIRMED_S:
            view = yield from self.current()
            question = ListRecords(view.number, prefix)
            replies = yield AskMembers([(each.address, question) for each in view.members])
            if all(isinstance(reply, Listed) and reply.is_confirmed for reply in replies):
                return _joined(replies), True
            yield from self._again(*replies)
        view = yield from self.refresh()
        question = ListRecords(view.number, prefix, from_copy=True)
        replies = yield AskMembers([(each.address, question) for each in view.members])
        return _joined([reply for reply in replies if isinstance(reply, Listed)]), False

    def _again(self, *replies: ClientReply | None) -> Steps[None]:
        before = self.view
        for reply in replies:
            self._learn(reply)
        if self.view is before:
            yield Pause(PAUSE_S)
            yield from self.refresh()

    def _learn(self, reply: ClientReply | None) -> None:
        if not isinstance(reply, Elsewhere) or reply.view is None:
            return
        if self.view is None or reply.view.number > self.view.number:
            self.view = reply.view


def _owner(view: RingView, path: str) -> RingMember:
    fingers = Fingers(view.positions[0], view.positions)
    return view.owner(fingers.next(key_of(path)))


def _joined(replies: list[Listed]) -> dict[str, Record]:
    newest: dict[str, Record] = {}
    for reply in replies:
        for record in reply.records:
            known = newest.get(record.path)
            if known is None or known.version < record.version:
                newest[record.path] = record
    return newest
