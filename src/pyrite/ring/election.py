"""The election of a coordinator, and the agreement on the next view that it proposes."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from pyrite.ring.ballot import Ballot
from pyrite.ring.messages import (
    Adopt,
    Agreed,
    Canvass,
    Lead,
    Outvoted,
    Propose,
    RingPeer,
    Vote,
)
from pyrite.ring.standing import Standing
from pyrite.ring.turn import BEAT_S, SUSPECT_S, RingTurn
from pyrite.ring.views import RingView

# Later candidates in the order of the ring wait for the earlier ones.
STAGGER_S = 0.4
BALLOT = "ballot"


class Role(Enum):
    """What a member is in the term of its view and round."""

    FOLLOWER = 1
    CANDIDATE = 2
    COORDINATOR = 3


class Election:
    """One member's part in it; a term is a view's number and a round, and has one coordinator."""

    def __init__(self, standing: Standing, adopt: Callable[[RingTurn, RingView], None]) -> None:
        self.standing = standing
        self.role = Role.FOLLOWER
        self.round = 0
        self.leader = ""
        self.proposal: RingView | None = None
        self._adopt = adopt
        self._votes: dict[str, Vote] = {}
        self._agreed: set[str] = set()
        self._quiet_since_s = 0.0
        self._said_s = 0.0

    def begin_view(self, now_s: float, was_coordinator: bool) -> None:
        """A new view has been adopted: its first round is the last coordinator's to win."""
        self.role, self.round, self.leader = Role.FOLLOWER, 0, ""
        self.proposal = None
        self._quiet_since_s = now_s - (10 * SUSPECT_S if was_coordinator else 0)

    def tick(self, turn: RingTurn) -> None:
        """Speaks again where nobody answered, and stands where nobody leads."""
        if not self.standing.votes:
            return
        if self.role is Role.FOLLOWER:
            if turn.now_s - self._quiet_since_s > self._patience_s():
                self._stand(turn)
        elif turn.now_s - self._said_s >= BEAT_S:
            if self.role is Role.CANDIDATE and turn.now_s - self._quiet_since_s > SUSPECT_S:
                self._step_down(turn.now_s)
            else:
                self._say(turn)

    def propose(self, turn: RingTurn, next: RingView) -> None:
        """The coordinator proposes a view: one in its term."""
        assert self.role is Role.COORDINATOR and self.proposal is None
        self.proposal = next
        self._say(turn)

    def on_canvass(self, turn: RingTurn, peer: RingPeer, message: Canvass) -> None:
        ballot = self._ballot()
        given = ballot.votes_for(message.round, peer.id)
        if given is None:
            turn.send(peer.address, Outvoted(message.view, ballot.promised))
            return
        if peer.id != self.standing.me.id:
            if message.round > self.round:
                self._step_down(turn.now_s)
            self._quiet_since_s = turn.now_s
        vote = Vote(message.view, message.round, given.accepted_round, given.accepted)
        self._save_ballot(turn, given, peer, vote)

    def on_vote(self, turn: RingTurn, peer: RingPeer, message: Vote) -> None:
        if self.role is not Role.CANDIDATE or message.round != self.round:
            return
        self._votes[peer.id] = message
        if len(self._votes) < self._ballot().view.majority:
            return
        self.role, self.leader = Role.COORDINATOR, self.standing.me.id
        # What may have been decided already must be proposed again.
        last = max(self._votes.values(), key=lambda vote: vote.accepted_round)
        self.proposal = last.accepted
        self._say(turn)

    def on_outvoted(self, turn: RingTurn, message: Outvoted) -> None:
        if self.role is not Role.FOLLOWER and message.round > self.round:
            self._step_down(turn.now_s)
            self.round = message.round

    def on_lead(self, turn: RingTurn, peer: RingPeer, message: Lead) -> bool:
        """Returns whether this is the coordinator to follow."""
        if message.round < self._ballot().promised:
            turn.send(peer.address, Outvoted(message.view, self._ballot().promised))
            return False
        self.leader = peer.id
        self._quiet_since_s = turn.now_s
        return True

    def on_propose(self, turn: RingTurn, peer: RingPeer, message: Propose) -> None:
        given = self._ballot().accepts(message.round, peer.id, message.next)
        if given is None:
            turn.send(peer.address, Outvoted(message.view, self._ballot().promised))
            return
        self._quiet_since_s = turn.now_s
        self._save_ballot(turn, given, peer, Agreed(message.view, message.round))

    def on_agreed(self, turn: RingTurn, peer: RingPeer, message: Agreed) -> None:
        if self.role is not Role.COORDINATOR or message.round != self.round:
            return
        self._agreed.add(peer.id)
        old, next = self._ballot().view, self.proposal
        if next is None or len(self._agreed) < old.majority:
            return
        for member in dict.fromkeys((*old.members, *next.members)):
            if member.id != self.standing.me.id:
                turn.send(member.address, Adopt(next))
        self._adopt(turn, next)

    def _stand(self, turn: RingTurn) -> None:
        self.round = max(self.round, self._ballot().promised) + 1
        self.role, self.leader = Role.CANDIDATE, ""
        self.proposal = None
        self._votes.clear()
        self._agreed.clear()
        self._quiet_since_s = turn.now_s
        self._say(turn)

    def _step_down(self, now_s: float) -> None:
        self.role, self.leader = Role.FOLLOWER, ""
        self.proposal = None
        self._quiet_since_s = now_s

    def _say(self, turn: RingTurn) -> None:
        self._said_s = turn.now_s
        view = self._ballot().view
        for member in view.members:
            if self.role is Role.CANDIDATE:
                turn.send(member.address, Canvass(view.number, self.round))
                continue
            turn.send(member.address, Lead(view.number, self.round))
            if self.proposal is not None:
                turn.send(member.address, Propose(view.number, self.round, self.proposal))

    def _save_ballot(
        self, turn: RingTurn, ballot: Ballot, peer: RingPeer, reply: Vote | Agreed
    ) -> None:
        self.standing.ballot = ballot

        def then(turn: RingTurn, is_saved: bool) -> None:
            if is_saved:
                turn.send(peer.address, reply)

        turn.save([(BALLOT, ballot)], then)

    def _patience_s(self) -> float:
        view = self._ballot().view
        place = list(view.by_id).index(self.standing.me.id)
        return SUSPECT_S + STAGGER_S * ((place + self._ballot().promised) % len(view.members))

    def _ballot(self) -> Ballot:
        assert self.standing.ballot is not None, "no election before the first view"
        return self.standing.ballot
