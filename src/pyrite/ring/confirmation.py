"""Confirmation that a view is still the last one: a majority of it has accepted no other."""

from __future__ import annotations

from collections.abc import Callable

from pyrite.ring.messages import AskCurrent, IsCurrent, RingPeer
from pyrite.ring.standing import Standing
from pyrite.ring.turn import BEAT_S, RingTurn

# Who has no majority for this long says so.
CONFIRM_S = 1.0
Confirmed = Callable[[RingTurn, bool], None]


class Confirmation:
    """Asks all members at once for everything that waits.

    A later view needs the agreement of a majority. If a majority says after a request came that it
    has agreed to none, the view was the last one at some time since then.
    """

    def __init__(self, standing: Standing) -> None:
        self.standing = standing
        self._number = 0
        self._sure: set[str] = set()
        self._asked_s = 0.0
        # When each began to wait; those of the running question, and those of the next.
        self._asked: list[tuple[float, Confirmed]] = []
        self._next: list[tuple[float, Confirmed]] = []

    def ask(self, turn: RingTurn, then: Confirmed) -> None:
        """Calls `then` with True once a majority confirms, with False if none does in time."""
        self._next.append((turn.now_s, then))
        if not self._asked:
            self._begin(turn)

    def begin_view(self, turn: RingTurn) -> None:
        """What was asked about the last view has no answer."""
        waiting = [*self._asked, *self._next]
        self._asked, self._next = [], []
        self._number += 1
        for _, then in waiting:
            then(turn, False)

    def tick(self, turn: RingTurn) -> None:
        late_s = turn.now_s - CONFIRM_S
        late = [then for since_s, then in [*self._asked, *self._next] if since_s <= late_s]
        self._asked = [each for each in self._asked if each[0] > late_s]
        self._next = [each for each in self._next if each[0] > late_s]
        for then in late:
            then(turn, False)
        if self._asked and turn.now_s - self._asked_s >= BEAT_S:
            self._say(turn)
        elif not self._asked and self._next:
            self._begin(turn)

    def on_ask(self, turn: RingTurn, peer: RingPeer, message: AskCurrent) -> None:
        ballot = self.standing.ballot
        if self.standing.votes and ballot is not None and ballot.accepted is None:
            turn.send(peer.address, IsCurrent(message.view, message.number))

    def on_current(self, turn: RingTurn, peer: RingPeer, message: IsCurrent) -> None:
        view = self.standing.view
        if message.number != self._number or view is None or peer.id not in view.by_id:
            return
        self._sure.add(peer.id)
        if len(self._sure) < view.majority or not self._asked:
            return
        sure, self._asked = self._asked, []
        self._number += 1
        for _, then in sure:
            then(turn, True)
        if self._next and not self._asked:
            self._begin(turn)

    def _begin(self, turn: RingTurn) -> None:
        self._asked, self._next = self._next, []
        self._number += 1
        self._sure.clear()
        self._say(turn)

    def _say(self, turn: RingTurn) -> None:
        self._asked_s = turn.now_s
        view = self.standing.view
        for member in () if view is None else view.members:
            turn.send(member.address, AskCurrent(view.number if view else 0, self._number))
