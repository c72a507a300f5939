"""A member of a ring: told of messages, time and the disk, it answers with actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from pyrite.ring.ballot import Ballot
from pyrite.ring.claims import Claims
from pyrite.ring.confirmation import Confirmation
from pyrite.ring.election import BALLOT, Election, Role
from pyrite.ring.keys import SPACE
from pyrite.ring.membership import Membership
from pyrite.ring.messages import (
    Adopt,
    Agreed,
    AskCurrent,
    AskView,
    Beat,
    Behind,
    Canvass,
    ClientRequest,
    Collect,
    Collected,
    CompareAndSet,
    CopyRecord,
    DropRecord,
    Elsewhere,
    Following,
    Install,
    Installed,
    IsCurrent,
    Join,
    Lack,
    Lead,
    Leave,
    ListRecords,
    MemberMessage,
    Offer,
    Outvoted,
    Propose,
    ReadRecord,
    RecordCopied,
    Released,
    RingPeer,
    Suspect,
    Vote,
    Wanted,
)
from pyrite.ring.record import Record
from pyrite.ring.records import Records
from pyrite.ring.registers import Registers
from pyrite.ring.repair import Repair
from pyrite.ring.settlement import CLAIMS, Settlement
from pyrite.ring.standing import Standing
from pyrite.ring.turn import RingAction, RingDisk, RingTurn, nothing
from pyrite.ring.views import RingMember, RingView


class RingProcess:
    """All parts of a member; `saved` is what its disk has of an earlier start.

    A process that can't read all that it saved must have another id, and nothing in `saved`: it
    has forgotten what it promised. The blocks that it has are welcome all the same.
    """

    def __init__(
        self,
        me: RingMember,
        saved: Mapping[str, Any],
        blocks: Mapping[str, int],
    ) -> None:
        ballot: Ballot | None = saved.get(BALLOT)
        if ballot is not None and me.id in ballot.view.by_id:
            me = me._replace(position=ballot.view.by_id[me.id].position)
        self.standing = Standing(me, ballot)
        self.records = Records()
        self.records.load(value for value in saved.values() if isinstance(value, Record))
        self.records.claims = Claims(saved.get(CLAIMS, ()))
        self.election = Election(self.standing, self._adopt)
        self.membership = Membership(self.standing, self.election)
        self.confirmation = Confirmation(self.standing)
        self.settlement = Settlement(self.standing, self.records, self._on_settled)
        self.registers = Registers(self.standing, self.records, self.settlement, self.confirmation)
        self.repair = Repair(self.standing)
        self.repair.blocks.update(blocks)
        self._disk = RingDisk()
        self._moved: dict[str, str] = {}
        self._note_address(RingPeer(me.id, me.address))

    @property
    def is_whole(self) -> bool:
        """Whether the member's range is settled and its blocks are where they belong."""
        return self.settlement.is_settled and self.repair.lacking == 0

    def found(self, now_s: float) -> list[RingAction]:
        """Begins a ring with this member alone."""
        assert self.standing.ballot is None, "this member has been in a ring"
        turn = self._turn(now_s)
        me = self.standing.me
        first = RingView(0, ()).changed((), [me], {})
        self.records.claims.set(0, SPACE, first.number)
        turn.save([(CLAIMS, self.records.claims.pieces())], nothing)
        self._adopt(turn, first)
        return turn.actions

    def join(self, now_s: float, addresses: list[str]) -> list[RingAction]:
        """Asks members of a ring to be let in; to be repeated until there is a view."""
        turn = self._turn(now_s)
        for address in addresses:
            turn.send(address, Join(self.standing.me))
        return turn.actions

    def leave(self) -> None:
        """Wants to leave: from now on the coordinator is asked to."""
        self.membership.is_leaving = True

    def tick(self, now_s: float) -> list[RingAction]:
        """Time has passed."""
        turn = self._turn(now_s)
        if self.standing.view is not None:
            self.election.tick(turn)
            self.membership.tick(turn)
            self.confirmation.tick(turn)
            self.settlement.tick(turn)
            self.registers.tick(turn)
            self.repair.tick(turn)
        return turn.actions

    def on_saved(self, order: int, is_saved: bool, now_s: float) -> list[RingAction]:
        """The disk has done what it was told, or could not."""
        turn = self._turn(now_s)
        self._disk.waiting.pop(order)(turn, is_saved)
        return turn.actions

    def on_request(self, ticket: Any, request: ClientRequest, now_s: float) -> list[RingAction]:
        """A client asks something."""
        turn = self._turn(now_s)
        match request:
            case AskView():
                turn.answer(ticket, Elsewhere(self.standing.view))
            case ReadRecord(from_copy=True):
                self.registers.read(turn, ticket, request)
            case ListRecords(from_copy=True):
                self.registers.list_own(turn, ticket, request)
            case _ if request.view != self.standing.number:
                turn.answer(ticket, Elsewhere(self.standing.view))
            case ReadRecord():
                self.registers.read(turn, ticket, request)
            case CompareAndSet():
                self.registers.compare_and_set(turn, ticket, request)
            case ListRecords():
                self.registers.list_own(turn, ticket, request)
            case _:
                assert_never(request)
        return turn.actions

    def on_block_lost(self, name: str, now_s: float) -> list[RingAction]:
        """A block's file is gone or spoilt."""
        turn = self._turn(now_s)
        self.repair.lost(turn, name)
        return turn.actions

    def on_block_unneeded(self, name: str, now_s: float) -> list[RingAction]:
        """No file has the block any more."""
        turn = self._turn(now_s)
        self.repair.remove(turn, name)
        return turn.actions

    def on_block_copied(self, name: str, id: str, is_there: bool, now_s: float) -> list[RingAction]:
        """A block that was to be sent has arrived, or has not."""
        turn = self._turn(now_s)
        self.repair.copied(turn, name, id, is_there)
        return turn.actions

    def on_message(self, peer: RingPeer, message: MemberMessage, now_s: float) -> list[RingAction]:
        """Another member, or this one, says something."""
        self._note_address(peer)
        turn = self._turn(now_s)
        if isinstance(message, Adopt):
            self._adopt(turn, message.view)
        elif isinstance(message, Join):
            self._on_join(turn, message)
        elif isinstance(message, Behind):
            self._tell(turn, peer, message.view)
        elif message.view > self.standing.number:
            turn.send(peer.address, Behind(self.standing.number))
        elif message.view < self.standing.number:
            self._tell(turn, peer, message.view)
        else:
            self._dispatch(turn, peer, message)
        return turn.actions

    def _turn(self, now_s: float) -> RingTurn:
        return RingTurn(now_s, self._disk, self._moved)

    def _note_address(self, peer: RingPeer) -> None:
        """A member that started again may be elsewhere than its view says."""
        view = self.standing.view
        known = None if view is None else view.by_id.get(peer.id)
        if known is not None and known.address != peer.address:
            self._moved[known.address] = peer.address

    def _tell(self, turn: RingTurn, peer: RingPeer, view: int) -> None:
        if self.standing.view is not None and view < self.standing.number:
            turn.send(peer.address, Adopt(self.standing.view))

    def _on_join(self, turn: RingTurn, message: Join) -> None:
        if self.standing.view is None:
            return
        self.membership.on_join(turn, message)
        turn.send(message.member.address, Adopt(self.standing.view))

    def _dispatch(self, turn: RingTurn, peer: RingPeer, message: Any) -> None:
        match message:
            case Canvass():
                if self.standing.votes:
                    self.election.on_canvass(turn, peer, message)
            case Vote():
                self.election.on_vote(turn, peer, message)
            case Outvoted():
                self.election.on_outvoted(turn, message)
            case Propose():
                if self.standing.votes:
                    self.election.on_propose(turn, peer, message)
            case Agreed():
                self.election.on_agreed(turn, peer, message)
            case Lead():
                mine = Following(
                    message.view, message.round, self.repair.owned_bytes, self.is_whole
                )
                self.membership.on_lead(turn, peer, message, mine)
            case Following():
                self.membership.on_following(peer, message)
            case Suspect():
                self.membership.on_suspect(turn, message)
            case Leave():
                self.membership.on_leave(turn, message)
            case Beat():
                self.membership.on_beat(turn, peer)
            case Collect():
                self.settlement.on_collect(turn, peer, message)
            case Collected():
                self.settlement.on_collected(turn, peer, message)
            case Install():
                self.settlement.on_install(turn, peer, message)
            case Installed():
                self.settlement.on_installed(turn, peer)
            case Released():
                self.settlement.on_released(turn, message)
            case CopyRecord():
                self.registers.on_copy(turn, peer, message)
            case RecordCopied():
                self.registers.on_copied(turn, peer, message)
            case DropRecord():
                self.registers.on_drop(turn, message)
            case AskCurrent():
                self.confirmation.on_ask(turn, peer, message)
            case IsCurrent():
                self.confirmation.on_current(turn, peer, message)
            case Offer():
                self.repair.on_offer(turn, peer, message)
            case Wanted():
                self.repair.on_wanted(turn, peer, message)
            case Lack():
                self.repair.on_lack(turn, peer, message)

    def _adopt(self, turn: RingTurn, view: RingView) -> None:
        if view.number <= self.standing.number:
            return
        was_coordinator = self.election.role is Role.COORDINATOR
        self.standing.ballot = Ballot(view)
        me = self.standing.me
        if me.id in view.by_id:
            self.standing.me = me._replace(position=view.by_id[me.id].position)
        self._moved.clear()
        self._note_address(RingPeer(me.id, me.address))
        turn.save([(BALLOT, self.standing.ballot)], nothing)
        self.election.begin_view(turn.now_s, was_coordinator or len(view.members) == 1)
        self.membership.begin_view(turn.now_s)
        self.registers.begin_view(turn)
        self.confirmation.begin_view(turn)
        self.settlement.begin_view(turn)
        self.repair.begin_view(turn)

    def _on_settled(self, turn: RingTurn) -> None:
        self.registers.on_settled()
