"""What a member has promised and accepted: the acceptor of Paxos, once per number of a view."""

from __future__ import annotations

from typing import NamedTuple

from pyrite.ring.views import RingView


class Ballot(NamedTuple):
    """The state that must survive a restart, or else the member must not vote.

    View n + 1 is the single decision of the members of view n, by a majority of them. A round
    belongs to one candidate, since each member votes once in it, so rounds are Paxos's ballots:

    1. Whoever wins round r has the votes of a majority, and each of these members accepts nothing
       of an earlier round from then on.
    2. If a majority accepted view V in round q, every winner of a round r > q has a vote of one of
       them, which names what it accepted. The winner proposes the one of the highest round, which
       is V by induction over the rounds from q to r.
    3. So at most one view n + 1 is ever accepted by a majority of view n, and by induction over n
       the adopted views are one chain. No clock takes part in this.
    """

    view: RingView
    promised: int = 0
    voted_for: str = ""
    accepted_round: int = 0
    accepted: RingView | None = None

    def votes_for(self, round: int, candidate: str) -> Ballot | None:
        """The ballot after a vote; None if this or a later round has been given away."""
        if round > self.promised:
            return self._replace(promised=round, voted_for=candidate)
        if round == self.promised and candidate == self.voted_for:
            return self
        return None

    def accepts(self, round: int, proposer: str, next: RingView) -> Ballot | None:
        """The ballot after it accepted a proposal; None if a later round has begun."""
        if round < self.promised:
            return None
        return Ballot(self.view, round, proposer, round, next)
