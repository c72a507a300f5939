"""What members of a ring tell each other, and what clients ask of them.

A message names the view that its sender is in. A member that is behind asks for the newer view,
and tells the sender if that one is behind.
"""

from __future__ import annotations

from typing import NamedTuple

from pyrite.ring.record import Record, Version
from pyrite.ring.views import RingMember, RingView


class RingPeer(NamedTuple):
    """Who sent a message, and where answers go."""

    id: str
    address: str


# Agreement on views


class Canvass(NamedTuple):
    """A member stands for coordinator."""

    view: int
    round: int


class Vote(NamedTuple):
    """A member's vote, and the next view that it has accepted already, if any."""

    view: int
    round: int
    accepted_round: int
    accepted: RingView | None


class Outvoted(NamedTuple):
    """A later round has begun."""

    view: int
    round: int


class Propose(NamedTuple):
    """The coordinator proposes the next view."""

    view: int
    round: int
    next: RingView


class Agreed(NamedTuple):
    """A member has accepted the proposal."""

    view: int
    round: int


class Adopt(NamedTuple):
    """A view that a majority of the one before has accepted."""

    view: RingView


class Behind(NamedTuple):
    """The sender's view; whoever has a newer one shall send it."""

    view: int


# The coordinator and its members


class Lead(NamedTuple):
    """The coordinator is there."""

    view: int
    round: int


class Following(NamedTuple):
    """What a member tells its coordinator: bytes that it owns, and whether its copies are whole."""

    view: int
    round: int
    owned_bytes: int
    is_whole: bool


class Suspect(NamedTuple):
    """A neighbour has been silent for too long."""

    view: int
    id: str
    incarnation: int


class Join(NamedTuple):
    """A process wants to be a member, or one again; its position is a wish."""

    member: RingMember


class Leave(NamedTuple):
    """A member wants to leave."""

    view: int
    id: str


class Beat(NamedTuple):
    """A neighbour is there."""

    view: int


# Records


class Collect(NamedTuple):
    """The owner of a range asks what others have of it; `start` and `end` as in `range_of`."""

    view: int
    start: int
    end: int
    with_records: bool


class Collected(NamedTuple):
    """What a member has of a range: claims, digest, and the records if they were asked for."""

    view: int
    claims: list[tuple[int, int, int]]
    digest: int
    records: list[Record] | None


class Install(NamedTuple):
    """What a copy lacks of a range; with `is_all`, all that there is of it."""

    view: int
    start: int
    end: int
    records: list[Record]
    is_all: bool


class Installed(NamedTuple):
    """A copy has all records of its owner's range on disk, and claims it for this view."""

    view: int


class Released(NamedTuple):
    """All copies of a range have it: others may drop what they have of it."""

    view: int
    start: int
    end: int


class CopyRecord(NamedTuple):
    """The owner's newest version of a record."""

    view: int
    record: Record


class RecordCopied(NamedTuple):
    """A copy has this version on disk."""

    view: int
    path: str
    version: Version


class DropRecord(NamedTuple):
    """A path that was removed long ago need not be remembered."""

    view: int
    path: str
    version: Version


class AskCurrent(NamedTuple):
    """Is this still the last view that you know of?"""

    view: int
    number: int


class IsCurrent(NamedTuple):
    """It is, and no later one has been accepted here."""

    view: int
    number: int


# Blocks


class Offer(NamedTuple):
    """Blocks that the sender has, and that the receiver should have."""

    view: int
    names: list[str]


class Wanted(NamedTuple):
    """Of the blocks that were offered, the ones that the receiver has, and those to send."""

    view: int
    present: list[str]
    missing: list[str]


class Lack(NamedTuple):
    """A block that the sender should have and has lost."""

    view: int
    name: str


MemberMessage = (
    Canvass
    | Vote
    | Outvoted
    | Propose
    | Agreed
    | Adopt
    | Behind
    | Lead
    | Following
    | Suspect
    | Join
    | Leave
    | Beat
    | Collect
    | Collected
    | Install
    | Installed
    | Released
    | CopyRecord
    | RecordCopied
    | DropRecord
    | AskCurrent
    | IsCurrent
    | Offer
    | Wanted
    | Lack
)


# What clients ask


class ReadRecord(NamedTuple):
    """What is at a path? `from_copy` takes the word of whoever has a copy."""

    view: int
    path: str
    from_copy: bool = False


class CompareAndSet(NamedTuple):
    """Gives a path another value, if it is still of a version."""

    view: int
    path: str
    expected: Version
    value: object
    op: str


class ListRecords(NamedTuple):
    """The member's own records whose paths start so; `from_copy` takes all that it has."""

    view: int
    prefix: str
    from_copy: bool = False


class AskView(NamedTuple):
    """Which view is this?"""


ClientRequest = ReadRecord | CompareAndSet | ListRecords | AskView


# What they are answered


class Found(NamedTuple):
    """A record; confirmed if a majority was in the same view after the question came."""

    record: Record
    is_confirmed: bool


class Listed(NamedTuple):
    """Records of one member."""

    records: list[Record]
    is_confirmed: bool


class SetDone(NamedTuple):
    """The value is on disk at all copies."""

    version: Version


class Conflict(NamedTuple):
    """The path is of another version."""

    record: Record


class Elsewhere(NamedTuple):
    """This member's view, which is not the one that the request named."""

    view: RingView | None


class NotReady(NamedTuple):
    """Nothing was done; ask again."""

    reason: str


ClientReply = Found | Listed | SetDone | Conflict | Elsewhere | NotReady
