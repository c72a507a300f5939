"""Who should be in the next view: silent neighbours go, newcomers come, leavers leave."""

from __future__ import annotations

from pyrite.ring.election import Election, Role
from pyrite.ring.messages import Beat, Behind, Following, Join, Lead, Leave, RingPeer, Suspect
from pyrite.ring.standing import Standing
from pyrite.ring.turn import BEAT_S, SUSPECT_S, RingTurn
from pyrite.ring.views import NO_WISH, RingMember, RingView

# Joining and leaving in order wait so long for the copies of the last view.
WHOLE_WAIT_S = 60.0


class Membership:
    """Watches the neighbours, and collects for the coordinator what has to change."""

    def __init__(self, standing: Standing, election: Election) -> None:
        self.standing = standing
        self.election = election
        self.following: dict[str, Following] = {}
        self.is_leaving = False
        self._heard_s: dict[str, float] = {}
        self._began_s = 0.0
        self._said_s = 0.0
        self._suspects: dict[tuple[str, int], float] = {}
        self._joins: dict[str, tuple[RingMember, float]] = {}
        self._leaves: dict[str, float] = {}

    def begin_view(self, now_s: float) -> None:
        """Everybody of the new view gets time to be heard."""
        self._began_s = now_s
        self._heard_s.clear()
        self.following.clear()
        self._suspects.clear()

    def tick(self, turn: RingTurn) -> None:
        view = self.standing.view
        if view is None:
            return
        if turn.now_s - self._said_s >= BEAT_S:
            self._said_s = turn.now_s
            if self.standing.is_admitted:
                self._watch(turn, view)
            else:
                # Whoever is leaving still gives blocks away, for which it must know the last view.
                message = Behind(view.number) if self.is_leaving else Join(self.standing.me)
                for member in view.members:
                    turn.send(member.address, message)
        if self.election.role is Role.COORDINATOR and self.election.proposal is None:
            next = self._wanted(turn.now_s, view)
            if next is not None:
                self.election.propose(turn, next)

    def on_beat(self, turn: RingTurn, peer: RingPeer) -> None:
        self._heard_s[peer.id] = turn.now_s

    def on_lead(self, turn: RingTurn, peer: RingPeer, message: Lead, mine: Following) -> None:
        if self.election.on_lead(turn, peer, message):
            turn.send(peer.address, mine)

    def on_following(self, peer: RingPeer, message: Following) -> None:
        self.following[peer.id] = message

    def on_suspect(self, turn: RingTurn, message: Suspect) -> None:
        self._suspects[message.id, message.incarnation] = turn.now_s

    def on_join(self, turn: RingTurn, message: Join) -> None:
        self._joins[message.member.id] = message.member, turn.now_s

    def on_leave(self, turn: RingTurn, message: Leave) -> None:
        self._leaves[message.id] = turn.now_s

    def _watch(self, turn: RingTurn, view: RingView) -> None:
        for neighbour in view.neighbours(self.standing.me.id):
            turn.send(neighbour.address, Beat(view.number))
            heard_s = self._heard_s.get(neighbour.id, self._began_s)
            leader = view.by_id.get(self.election.leader)
            if turn.now_s - heard_s > SUSPECT_S and leader is not None:
                suspect = Suspect(view.number, neighbour.id, neighbour.incarnation)
                turn.send(leader.address, suspect)
        if self.is_leaving:
            for member in view.members:
                turn.send(member.address, Leave(view.number, self.standing.me.id))

    def _wanted(self, now_s: float, view: RingView) -> RingView | None:
        """The view that there should be; None if it is this one."""
        recent_s = now_s - 3 * BEAT_S
        gone = [
            id
            for (id, incarnation), said_s in self._suspects.items()
            if said_s >= recent_s and view.has(id, incarnation) and id != self.standing.me.id
        ]
        asked = [member for member, said_s in self._joins.values() if said_s >= recent_s]
        new = [each for each in asked if not view.has(each.id, each.incarnation)]
        # A member that was away may have what others lack: it doesn't wait.
        back = [each for each in new if each.position != NO_WISH]
        if self._is_whole(view) or now_s - self._began_s > WHOLE_WAIT_S:
            back += [each for each in new if each.position == NO_WISH]
            if not gone:
                gone = [id for id, said_s in self._leaves.items() if said_s >= recent_s][:1]
        gone = [id for id in gone if id in view.by_id]
        if not (gone or back) or len(gone) == len(view.members):
            return None
        owned = {id: told.owned_bytes for id, told in self.following.items()}
        return view.changed(gone, back, owned)

    def _is_whole(self, view: RingView) -> bool:
        return all(
            member.id in self.following and self.following[member.id].is_whole
            for member in view.members
        )
