"""Deliberate bugs in the ring: with each switched on some seed must fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

from pyrite.ring.ballot import Ballot
from pyrite.ring.claims import Claims
from pyrite.ring.confirmation import Confirmation
from pyrite.ring.election import Election
from pyrite.ring.keys import key_of
from pyrite.ring.messages import RecordCopied, SetDone
from pyrite.ring.operations import Operations
from pyrite.ring.registers import Registers
from pyrite.ring.repair import Repair
from pyrite.ring.settlement import Settlement
from pyrite.ring.turn import RingDisk
from pyrite.ring.views import RingView


class RingMutation(NamedTuple):
    """A bug: what it replaces, by what, and the seeds of which one must find it."""

    owner: Any
    name: str
    bug: Any
    seeds: range


SEEDS = range(250)
RING_MUTATIONS: dict[str, RingMutation] = {}


def ring_mutation(owner: Any, name: str, seeds: range = SEEDS) -> Callable[[Any], Any]:
    """Names a bug by its function."""

    def add(bug: Any) -> Any:
        title = getattr(bug, "fget", bug).__name__.replace("_", " ")
        RING_MUTATIONS[title] = RingMutation(owner, name, bug, seeds)
        return bug

    return add


@contextmanager
def ring_bug(title: str) -> Iterator[None]:
    chosen = RING_MUTATIONS[title]
    with patch.object(chosen.owner, chosen.name, chosen.bug):
        yield


_next = Registers._next
_vote = Election.on_vote
_has = Repair._has
_on_installed = Settlement.on_installed


@ring_mutation(Registers, "on_copied")
def a_write_is_acknowledged_by_one_copy(
    self: Registers, turn: Any, peer: Any, message: Any
) -> None:
    change = self._changes.pop(message.path, None)
    if change is not None:
        turn.answer(change.ticket, SetDone(change.record.version))
        self._next(turn, message.path)


@ring_mutation(Registers, "on_copy")
def a_copy_is_acknowledged_before_it_is_on_disk(
    self: Registers, turn: Any, peer: Any, message: Any
) -> None:
    view, record = message
    if self.standing.is_admitted and self.records.claims.at(key_of(record.path)) == view:
        self.records.put(record)
        turn.send(peer.address, RecordCopied(view, record.path, record.version))


@ring_mutation(Election, "_save_ballot")
def a_vote_is_cast_before_it_is_on_disk(
    self: Election, turn: Any, ballot: Ballot, peer: Any, reply: Any
) -> None:
    self.standing.ballot = ballot
    turn.send(peer.address, reply)


@ring_mutation(Ballot, "votes_for")
def a_member_votes_twice_in_a_round(self: Ballot, round: int, candidate: str) -> Ballot | None:
    return self._replace(promised=round) if round >= self.promised else None


@ring_mutation(Election, "on_vote")
def what_was_accepted_is_not_proposed_again(
    self: Election, turn: Any, peer: Any, message: Any
) -> None:
    _vote(self, turn, peer, message._replace(accepted_round=0, accepted=None))


@ring_mutation(RingView, "majority")
@property
def half_of_the_members_decide(self: RingView) -> int:
    return max(1, len(self.members) // 2)


@ring_mutation(Settlement, "on_installed")
def a_range_is_served_before_its_copies_have_it(self: Settlement, turn: Any, peer: Any) -> None:
    self._installed.update(self._installs)
    _on_installed(self, turn, peer)


# One seed of thousands delivers it late enough; this one found it when it was no deliberate bug.
@ring_mutation(Settlement, "_has_claimed", seeds=range(3341, 3342))
def what_is_installed_twice_undoes_writes(self: Settlement, start: int, end: int) -> bool:
    return False


@ring_mutation(Claims, "at")
def old_claims_count_like_new_ones(self: Claims, key: int) -> int:
    return 1


# A stale owner and a client on its side of a partition, and a write on the other.
@ring_mutation(Confirmation, "ask", seeds=range(1510, 1516))
def reads_are_not_confirmed(self: Confirmation, turn: Any, then: Any) -> None:
    then(turn, True)


@ring_mutation(Repair, "_has")
def a_block_is_dropped_when_one_copy_has_it(self: Repair, turn: Any, id: str, name: str) -> None:
    for names in self._pending.values():
        names.pop(name, None)
    _has(self, turn, id, name)


@ring_mutation(RingDisk, "add")
def what_the_disk_refuses_counts_as_saved(self: RingDisk, then: Any) -> int:
    self.count += 1
    self.waiting[self.count] = lambda turn, is_saved: then(turn, True)
    return self.count


@ring_mutation(Operations, "_is_impossible")
def a_rename_is_given_up_while_it_may_still_happen(self: Operations, coming: Any) -> Any:
    return True
    yield


@ring_mutation(Operations, "forget")
def a_rename_that_is_over_is_never_forgotten(self: Operations, path: str, rename: str) -> Any:
    return
    yield


@ring_mutation(Registers, "_next")
def a_repeated_operation_is_not_recognised(self: Registers, turn: Any, path: str) -> None:
    for index, (ticket, message) in enumerate(self._queues.get(path, ())):
        self._queues[path][index] = ticket, message._replace(op=f"{message.op} {turn.now_s}")
    _next(self, turn, path)
