"""A view: the members of a ring at one time, and who holds which keys."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from pyrite.ring.keys import SPACE, copies_of, distance, key_of

# The position of a process that has not been a member yet.
NO_WISH = -1


class RingMember(NamedTuple):
    """A process that holds a part of the ring; its incarnation counts its starts."""

    id: str
    incarnation: int
    address: str
    position: int


@dataclass(frozen=True)
class RingView:
    """The members that a majority of the last view agreed on, by position."""

    number: int
    members: tuple[RingMember, ...]

    @cached_property
    def positions(self) -> list[int]:
        return [member.position for member in self.members]

    @cached_property
    def by_id(self) -> dict[str, RingMember]:
        return {member.id: member for member in self.members}

    @property
    def majority(self) -> int:
        """How many of the members are more than half of them."""
        return len(self.members) // 2 + 1

    def owner(self, key: int) -> RingMember:
        """The member that the key belongs to."""
        return self.members[self._index(key)]

    def copies(self, key: int) -> list[RingMember]:
        """The owner, its successor and its predecessor; fewer in a ring of one or two."""
        index, count = self._index(key), len(self.members)
        places = dict.fromkeys((index, (index + 1) % count, (index - 1) % count))
        return [self.members[place] for place in places]

    def holders(self, name: str) -> list[RingMember]:
        """The members that hold a block."""
        return self.copies(key_of(name))[: copies_of(name)]

    def range_of(self, id: str) -> tuple[int, int]:
        """The keys of a member: after the first number, up to the second."""
        index = self.members.index(self.by_id[id])
        return self.members[index - 1].position, self.members[index].position

    def neighbours(self, id: str) -> list[RingMember]:
        """The predecessor and the successor of a member."""
        around = self.copies(self.by_id[id].position)
        return [member for member in around if member.id != id]

    def has(self, id: str, incarnation: int) -> bool:
        """Whether this start of a member is in the view."""
        found = self.by_id.get(id)
        return found is not None and found.incarnation == incarnation

    def changed(
        self,
        gone: Iterable[str],
        come: Iterable[RingMember],
        owned_bytes: Mapping[str, int],
    ) -> RingView:
        """The next view, without some members and with others."""
        left = set(gone)
        members = {each.id: each for each in self.members if each.id not in left}
        for newcomer in come:
            known = members.pop(newcomer.id, None)
            taken = [each.position for each in members.values()]
            if known is not None:
                position = known.position
            elif newcomer.position != NO_WISH and newcomer.position not in taken:
                position = newcomer.position
            else:
                position = _halving(list(members.values()), owned_bytes, newcomer.id)
            members[newcomer.id] = newcomer._replace(position=position)
        ordered = sorted(members.values(), key=lambda each: each.position)
        return RingView(self.number + 1, tuple(ordered))

    def _index(self, key: int) -> int:
        return bisect_left(self.positions, key) % len(self.members)


def _halving(members: list[RingMember], owned_bytes: Mapping[str, int], id: str) -> int:
    """The position that halves the range with the most bytes; the widest one among equals."""
    if not members:
        return key_of(id)
    ordered = sorted(members, key=lambda each: each.position)

    def weight(index: int) -> tuple[int, int]:
        start, end = ordered[index - 1].position, ordered[index].position
        return owned_bytes.get(ordered[index].id, 0), distance(start, end) or SPACE

    heaviest = max(range(len(ordered)), key=weight)
    start = ordered[heaviest - 1].position
    return (start + weight(heaviest)[1] // 2) % SPACE
