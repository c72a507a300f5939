"""Settlement: how the owner of a range gets all of its records in a new view, and its copies too.

The owner asks every member of the view for its claims on the range. A claim of view w says: I had
every record that was acknowledged up to view w when I left it. Of those who have the highest claim
for a key, the newest version counts; what others have is of the past. The owner gives the outcome
to all copies, and serves the range when all of them have it on disk and claim it for the view.

Nothing that was acknowledged is lost by this. A write of view n is acknowledged when all copies of
view n, which all claim n, have it on disk. Whoever answers the owner is in the new view, and takes
no write of an earlier one any more. So each member that claims n has all acknowledged writes of n.
A claim above n was made in a settlement of a later view, which by induction had them too.
"""

from __future__ import annotations

from collections.abc import Callable

from pyrite.ring.claims import NO_CLAIM, Claims, highest
from pyrite.ring.keys import key_of, spans
from pyrite.ring.messages import (
    Collect,
    Collected,
    Install,
    Installed,
    Released,
    RingPeer,
)
from pyrite.ring.record import Record
from pyrite.ring.records import Records
from pyrite.ring.standing import Standing
from pyrite.ring.turn import BEAT_S, RingTurn, nothing
from pyrite.ring.views import RingMember, RingView

CLAIMS = "claims"


class Settlement:
    """The owner's part and the copies' part, for the view that the member is in."""

    def __init__(
        self, standing: Standing, records: Records, settled: Callable[[RingTurn], None]
    ) -> None:
        self.standing = standing
        self.records = records
        self.is_settled = False
        # No living member claims some of the keys: their copies must come back first.
        self.lacks_source = False
        self._settled = settled
        self._answers: dict[str, Collected] = {}
        self._asked: dict[str, bool] = {}
        self._installs: dict[str, Install] = {}
        self._installed: set[str] = set()
        self._said_s = 0.0

    def begin_view(self, turn: RingTurn) -> None:
        self.is_settled = self.lacks_source = False
        self._answers.clear()
        self._asked.clear()
        self._installs.clear()
        self._installed.clear()
        if self.standing.is_admitted:
            self._asked = dict.fromkeys(self._view().by_id, False)
            self._say(turn)

    def tick(self, turn: RingTurn) -> None:
        if (
            self.standing.is_admitted
            and not self.is_settled
            and turn.now_s - self._said_s >= BEAT_S
        ):
            self._say(turn)

    def on_collect(self, turn: RingTurn, peer: RingPeer, message: Collect) -> None:
        if not self.standing.is_admitted:
            return
        start, end = message.start, message.end
        found = list(self.records.within(start, end)) if message.with_records else None
        claims = self.records.claimed(start, end)
        digest = self.records.digest(start, end)
        turn.send(peer.address, Collected(message.view, claims, digest, found))

    def on_collected(self, turn: RingTurn, peer: RingPeer, message: Collected) -> None:
        if self._installs or peer.id not in self._asked:
            return
        if self._asked[peer.id] and message.records is None:
            return
        self._answers[peer.id] = message
        if all(id in self._answers for id in self._asked):
            self._weigh(turn)

    def on_install(self, turn: RingTurn, peer: RingPeer, message: Install) -> None:
        """Takes the outcome; the owner hears of it when it is on disk."""
        if not self.standing.is_admitted:
            return
        view, start, end, given, is_all = message
        if self._has_claimed(start, end):
            # It came twice: there may have been writes since.
            turn.send(peer.address, Installed(view))
            return
        if is_all:
            kept = {record.path for record in given}
            for record in list(self.records.within(start, end)):
                if record.path not in kept:
                    self.records.remove(record.path)
        for record in given:
            if self.records.get(record.path).version != record.version:
                self.records.change(record)

        def claimed(turn: RingTurn, is_saved: bool) -> None:
            if is_saved and self.standing.number == view:
                self.records.claim(start, end, view)
                self._save_claims(turn, peer, Installed(view))

        self.records.save(turn, claimed)

    def on_installed(self, turn: RingTurn, peer: RingPeer) -> None:
        if self.is_settled or peer.id not in self._installs:
            return
        self._installed.add(peer.id)
        if not self._installs.keys() <= self._installed:
            return
        self.is_settled = True
        view, (start, end) = self._view(), self._range()
        for member in view.members:
            if member.id not in self._installs:
                turn.send(member.address, Released(view.number, start, end))
        self._settled(turn)

    def on_released(self, turn: RingTurn, message: Released) -> None:
        """Drops what is left of a range that others have."""
        start, end = message.start, message.end
        if self.standing.holds(end):
            return
        for record in list(self.records.within(start, end)):
            self.records.remove(record.path)
        self.records.claim(start, end, NO_CLAIM)
        turn.save([(CLAIMS, self.records.claims.pieces())], nothing)
        self.records.save(turn, nothing)

    def _say(self, turn: RingTurn) -> None:
        self._said_s = turn.now_s
        view, (start, end) = self._view(), self._range()
        if self._installs:
            for id, install in self._installs.items():
                if id not in self._installed:
                    turn.send(view.by_id[id].address, install)
            return
        for id, with_records in self._asked.items():
            if id not in self._answers:
                message = Collect(view.number, start, end, with_records)
                turn.send(view.by_id[id].address, message)

    def _weigh(self, turn: RingTurn) -> None:
        """All claims are known, and maybe records: decides what the copies must be given."""
        top = highest(answer.claims for answer in self._answers.values())
        start, end = self._range()
        claimed = [view for span in spans(start, end) for _, _, view in top.within(*span)]
        self.lacks_source = NO_CLAIM in claimed
        if self.lacks_source:
            return
        copies = self._view().copies(end)
        complete = [id for id in self._answers if self._is_complete(id, top)]
        digests = {self._answers[each.id].digest for each in copies}
        if len(digests) == 1 and all(each.id in complete for each in copies):
            self._give(turn, copies, {each.id: [] for each in copies}, complete)
            return
        sources = [id for id in self._answers if self._has_top(id, top)]
        if any(self._answers[id].records is None for id in sources):
            for id in sources:
                self._asked[id] = True
                del self._answers[id]
            self._say(turn)
            return
        merged = self._merged(sources, top)
        lists = {each.id: self._lacking(each.id, merged, complete) for each in copies}
        self._give(turn, copies, lists, complete)

    def _give(
        self,
        turn: RingTurn,
        copies: list[RingMember],
        lists: dict[str, list[Record]],
        complete: list[str],
    ) -> None:
        view, (start, end) = self._view(), self._range()
        for each in copies:
            is_all = each.id not in complete
            self._installs[each.id] = Install(view.number, start, end, lists[each.id], is_all)
        self._say(turn)

    def _merged(self, sources: list[str], top: Claims) -> dict[str, Record]:
        """The newest version of each record among those who claim the most for its key."""
        merged: dict[str, Record] = {}
        for id in sources:
            claims = Claims(self._answers[id].claims)
            for record in self._answers[id].records or ():
                key = key_of(record.path)
                known = merged.get(record.path)
                if claims.at(key) == top.at(key) and (
                    known is None or known.version < record.version
                ):
                    merged[record.path] = record
        return merged

    def _lacking(self, id: str, merged: dict[str, Record], complete: list[str]) -> list[Record]:
        if id not in complete:
            return list(merged.values())
        has = {record.path: record.version for record in self._answers[id].records or ()}
        return [each for each in merged.values() if has.get(each.path) != each.version]

    def _is_complete(self, id: str, top: Claims) -> bool:
        """Whether a member has the highest claim for all keys of the range."""
        return all(
            view == known
            for low, high, view in self._answers[id].claims
            for _, _, known in top.within(low, high)
        )

    def _has_top(self, id: str, top: Claims) -> bool:
        """Whether a member has the highest claim for some keys of the range."""
        return any(
            view == known
            for low, high, view in self._answers[id].claims
            for _, _, known in top.within(low, high)
        )

    def _has_claimed(self, start: int, end: int) -> bool:
        """Whether this member claims a range for the view that it is in."""
        number = self.standing.number
        return all(view == number for _, _, view in self.records.claimed(start, end))

    def _save_claims(self, turn: RingTurn, peer: RingPeer, reply: Installed) -> None:
        def then(turn: RingTurn, is_saved: bool) -> None:
            if is_saved:
                turn.send(peer.address, reply)

        turn.save([(CLAIMS, self.records.claims.pieces())], then)

    def _view(self) -> RingView:
        view = self.standing.view
        assert view is not None, "settled before the first view"
        return view

    def _range(self) -> tuple[int, int]:
        return self._view().range_of(self.standing.me.id)
