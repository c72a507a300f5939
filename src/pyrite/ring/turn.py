"""The handling of one event by a member: its time, and the actions that answer it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pyrite.ring.messages import ClientReply, MemberMessage

# How often members speak to each other, and repeat what was not answered.
BEAT_S = 0.5
# Who is silent for this long is suspected.
SUSPECT_S = 2.0


class SendTo(NamedTuple):
    """Send a message to a member, maybe to oneself; it may get lost."""

    address: str
    message: MemberMessage


class AnswerClient(NamedTuple):
    """Answer a client's request."""

    ticket: Any
    reply: ClientReply


class SaveItems(NamedTuple):
    """Write named values to disk, all before the next order; None removes one."""

    order: int
    items: list[tuple[str, Any]]


class CopyBlock(NamedTuple):
    """Send a block to a member, and tell what became of it."""

    name: str
    id: str
    address: str
    view: int


class DropBlock(NamedTuple):
    """Remove a block's file."""

    name: str


RingAction = SendTo | AnswerClient | SaveItems | CopyBlock | DropBlock
# Told whether the disk took it.
Then = Callable[["RingTurn", bool], None]


class RingDisk:
    """The orders that the disk has not answered, and what follows from each."""

    def __init__(self) -> None:
        self.waiting: dict[int, Then] = {}
        self.count = 0

    def add(self, then: Then) -> int:
        self.count += 1
        self.waiting[self.count] = then
        return self.count


class RingTurn:
    """Collects the actions of one turn."""

    def __init__(self, now_s: float, disk: RingDisk, moved: Mapping[str, str]) -> None:
        self.now_s = now_s
        self.actions: list[RingAction] = []
        self._disk = disk
        # Where members are that started again since the view was made, by their old address.
        self._moved = moved

    def send(self, address: str, message: MemberMessage) -> None:
        self.actions.append(SendTo(self._moved.get(address, address), message))

    def answer(self, ticket: Any, reply: ClientReply) -> None:
        self.actions.append(AnswerClient(ticket, reply))

    def save(self, items: Sequence[tuple[str, Any]], then: Then) -> None:
        self.actions.append(SaveItems(self._disk.add(then), list(items)))

    def copy_block(self, name: str, id: str, address: str, view: int) -> None:
        self.actions.append(CopyBlock(name, id, self._moved.get(address, address), view))

    def drop_block(self, name: str) -> None:
        self.actions.append(DropBlock(name))


def nothing(turn: RingTurn, is_saved: bool) -> None:
    """Nobody waits for this."""
