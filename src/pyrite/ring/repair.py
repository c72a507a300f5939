"""Repair: after a change of the view, blocks are copied to where they belong, bounded in bytes."""

from __future__ import annotations

from collections import deque

from pyrite.ring.keys import key_of
from pyrite.ring.messages import Lack, Offer, RingPeer, Wanted
from pyrite.ring.standing import Standing
from pyrite.ring.turn import BEAT_S, RingTurn

# Names in one offer, and bytes that one member sends at a time.
OFFERED = 512
IN_FLIGHT_BYTES = 64 << 20
# A block that was asked for and did not come is asked for again after this.
COMING_S = 30.0


class Repair:
    """Offers each block to the members that should have it, and sends the ones that they lack.

    A block never changes, so whoever has it may give it. A member that should not have it drops
    it when all who should have it say that they do.
    """

    def __init__(self, standing: Standing) -> None:
        self.standing = standing
        self.blocks: dict[str, int] = {}
        # The bytes of the blocks whose keys are the member's own.
        self.owned_bytes = 0
        # By member, the blocks that it should have and is not known to have.
        self._pending: dict[str, dict[str, None]] = {}
        # Blocks that were here and should be, and when the others were asked for them.
        self._lost: dict[str, float] = {}
        self._said_s: dict[str, float] = {}
        self._coming: dict[str, float] = {}
        self._waiting: deque[tuple[str, str]] = deque()
        self._flying: dict[tuple[str, str], int] = {}

    @property
    def lacking(self) -> int:
        """How many blocks are not known to be everywhere that they should be."""
        names = {name for names in self._pending.values() for name in names}
        return len(names | self._lost.keys())

    def begin_view(self, turn: RingTurn) -> None:
        self._pending.clear()
        self._waiting.clear()
        self._said_s.clear()
        self._coming.clear()
        self._lost.clear()
        self.owned_bytes = 0
        for name, size in self.blocks.items():
            self._count(name, size)
            self._expect(name)

    def tick(self, turn: RingTurn) -> None:
        view = self.standing.view
        if view is None:
            return
        for id, names in self._pending.items():
            silent_s = turn.now_s - self._said_s.get(id, -BEAT_S)
            if names and id in view.by_id and silent_s >= BEAT_S:
                self._said_s[id] = turn.now_s
                first = list(names)[:OFFERED]
                turn.send(view.by_id[id].address, Offer(view.number, first))

        for name, said_s in self._lost.items():
            if turn.now_s - said_s >= BEAT_S:
                self._lost[name] = turn.now_s
                for each in view.holders(name):
                    if each.id != self.standing.me.id:
                        turn.send(each.address, Lack(view.number, name))

    def takes(self, view: int, name: str) -> bool:
        """Whether the member takes a block that is meant for its copies in a view."""
        return (
            self.standing.is_admitted
            and self.standing.number == view
            and self.standing.holds_block(name)
        )

    def stored(self, name: str, size: int) -> None:
        """A block is on disk; its writer gives it to the other copies."""
        self._forget(name)
        self.blocks[name] = size
        self._count(name, size)
        self._coming.pop(name, None)
        self._lost.pop(name, None)

    def lost(self, turn: RingTurn, name: str) -> None:
        """A block can't be read here any more: others are asked for it."""
        view = self.standing.view
        if view is None:
            return
        self._forget(name)
        for names in self._pending.values():
            names.pop(name, None)
        turn.drop_block(name)
        if self.standing.holds_block(name):
            self._lost[name] = turn.now_s - BEAT_S

    def remove(self, turn: RingTurn, name: str) -> None:
        """Nobody needs the block any more."""
        self._lost.pop(name, None)
        if self._forget(name):
            for names in self._pending.values():
                names.pop(name, None)
            turn.drop_block(name)

    def on_offer(self, turn: RingTurn, peer: RingPeer, message: Offer) -> None:
        if not self.standing.is_admitted:
            return
        present = [name for name in message.names if name in self.blocks]
        missing = []
        for name in message.names:
            late_s = turn.now_s - COMING_S
            if name not in self.blocks and self._coming.get(name, late_s) <= late_s:
                self._coming[name] = turn.now_s
                missing.append(name)
        turn.send(peer.address, Wanted(message.view, present, missing))

    def on_wanted(self, turn: RingTurn, peer: RingPeer, message: Wanted) -> None:
        for name in message.present:
            self._has(turn, peer.id, name)
        for name in message.missing:
            if name in self.blocks and (name, peer.id) not in self._flying:
                self._waiting.append((name, peer.id))
        self._send(turn)

    def on_lack(self, turn: RingTurn, peer: RingPeer, message: Lack) -> None:
        if message.name in self.blocks:
            self._pending.setdefault(peer.id, {})[message.name] = None

    def copied(self, turn: RingTurn, name: str, id: str, is_there: bool) -> None:
        """A block has been sent, or could not be."""
        self._flying.pop((name, id), None)
        if is_there:
            self._has(turn, id, name)
        self._send(turn)

    def _count(self, name: str, size: int) -> None:
        if self.standing.owns(key_of(name)):
            self.owned_bytes += size

    def _forget(self, name: str) -> bool:
        size = self.blocks.pop(name, None)
        if size is not None:
            self._count(name, -size)
        return size is not None

    def _expect(self, name: str) -> None:
        view = self.standing.view
        if view is None:
            return
        for each in view.holders(name):
            if each.id != self.standing.me.id:
                self._pending.setdefault(each.id, {})[name] = None

    def _has(self, turn: RingTurn, id: str, name: str) -> None:
        names = self._pending.get(id, {})
        names.pop(name, None)
        if (
            name in self.blocks
            and not self.standing.holds_block(name)
            and not any(name in others for others in self._pending.values())
        ):
            self.remove(turn, name)

    def _send(self, turn: RingTurn) -> None:
        view = self.standing.view
        while self._waiting and view is not None:
            name, id = self._waiting[0]
            size = self.blocks.get(name)
            if size is None or id not in view.by_id:
                self._waiting.popleft()
                continue
            if self._flying and sum(self._flying.values()) + size > IN_FLIGHT_BYTES:
                return
            self._waiting.popleft()
            self._flying[name, id] = size
            turn.copy_block(name, id, view.by_id[id].address, view.number)
