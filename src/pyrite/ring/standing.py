"""Who a member is, and the view that it is in."""

from __future__ import annotations

from pyrite.ring.ballot import Ballot
from pyrite.ring.views import RingMember, RingView


class Standing:
    """A member's identity and its ballot, which has its view; None before its first view."""

    def __init__(self, me: RingMember, ballot: Ballot | None) -> None:
        self.me = me
        self.ballot = ballot

    @property
    def view(self) -> RingView | None:
        return None if self.ballot is None else self.ballot.view

    @property
    def number(self) -> int:
        """The number of the view; 0 before the first one."""
        return 0 if self.ballot is None else self.ballot.view.number

    @property
    def votes(self) -> bool:
        """Whether the member takes part in decisions on the next view, whenever it was started."""
        return self.ballot is not None and self.me.id in self.ballot.view.by_id

    @property
    def is_admitted(self) -> bool:
        """Whether this start of the member is in the view, so that it holds data for it."""
        return self.ballot is not None and self.ballot.view.has(self.me.id, self.me.incarnation)

    def holds(self, key: int) -> bool:
        """Whether the member has a copy of what lies at a key."""
        view = self.view
        return view is not None and any(each.id == self.me.id for each in view.copies(key))

    def holds_block(self, name: str) -> bool:
        """Whether the member has a copy of a block."""
        view = self.view
        return view is not None and any(each.id == self.me.id for each in view.holders(name))

    def owns(self, key: int) -> bool:
        """Whether a key is the member's own."""
        view = self.view
        return view is not None and view.owner(key).id == self.me.id
