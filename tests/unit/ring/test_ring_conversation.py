"""What single parts of a member answer: votes, words to those who are behind, and errors."""

from __future__ import annotations

import pickle

from pyrite.ring.ballot import Ballot
from pyrite.ring.errors import RingUnavailable
from pyrite.ring.member import RingProcess
from pyrite.ring.messages import (
    Adopt,
    AskView,
    Beat,
    Behind,
    Canvass,
    CompareAndSet,
    Elsewhere,
    Outvoted,
    RingPeer,
    Vote,
)
from pyrite.ring.names import FileBlock, FileMeta, Name
from pyrite.ring.record import NEVER
from pyrite.ring.turn import AnswerClient, RingAction, SaveItems, SendTo
from pyrite.ring.views import NO_WISH, RingMember, RingView

A, B, C = (RingMember(name, 1, name, place) for name, place in (("a", 1), ("b", 2), ("c", 3)))
VIEW = RingView(5, (A, B, C))
PEER = RingPeer("b", "b")


def member() -> RingProcess:
    return RingProcess(A, {"ballot": Ballot(VIEW)}, {})


def saved(process: RingProcess, actions: list[RingAction]) -> list[RingAction]:
    """What follows when the disk has done its orders."""
    orders = [action for action in actions if isinstance(action, SaveItems)]
    return [more for each in orders for more in process.on_saved(each.order, True, 0.0)]


def sent(actions: list[RingAction], kind: type) -> list[object]:
    found = [each.message for each in actions if isinstance(each, SendTo)]
    return [message for message in found if isinstance(message, kind)]


def test_a_vote_is_cast_once_a_round_and_only_when_it_is_on_disk() -> None:
    process = member()
    actions = process.on_message(PEER, Canvass(5, 1), 0.0)
    assert sent(actions, Vote) == []
    assert sent(saved(process, actions), Vote) == [Vote(5, 1, 0, None)]
    again = process.on_message(RingPeer("c", "c"), Canvass(5, 1), 0.0)
    assert sent(again, Outvoted) == [Outvoted(5, 1)]
    assert sent(saved(process, again), Vote) == []


def test_who_is_behind_is_told_and_who_is_ahead_is_asked() -> None:
    process = member()
    assert sent(process.on_message(PEER, Beat(4), 0.0), Adopt) == [Adopt(VIEW)]
    assert sent(process.on_message(PEER, Beat(6), 0.0), Behind) == [Behind(5)]


def test_a_request_of_another_view_gets_this_one() -> None:
    process = member()
    for request in (AskView(), CompareAndSet(4, "/x", NEVER, None, "op")):
        actions = process.on_request("ticket", request, 0.0)
        assert actions == [AnswerClient("ticket", Elsewhere(VIEW))]


def test_a_process_that_is_not_in_the_view_yet_takes_no_blocks() -> None:
    process = RingProcess(A._replace(incarnation=2), {"ballot": Ballot(VIEW)}, {})
    assert not process.repair.takes(5, "x")
    assert member().repair.takes(5, "x")
    assert not member().repair.takes(4, "x")


def test_a_ring_of_one_serves_at_once() -> None:
    process = RingProcess(RingMember("solo", 1, "solo", NO_WISH), {}, {})
    waiting = process.found(0.0)
    me = RingPeer("solo", "solo")
    while waiting:
        action = waiting.pop(0)
        if isinstance(action, SendTo):
            waiting += process.on_message(me, action.message, 0.0)
        elif isinstance(action, SaveItems):
            waiting += process.on_saved(action.order, True, 0.0)
    assert process.settlement.is_settled


def test_trash_is_what_only_the_old_file_had() -> None:
    old = FileBlock("a.0", 1, ()), FileBlock("a.1", 1, ())
    new = FileMeta("b", 2, 0.0, "", 0, (old[0], FileBlock("b.0", 1, ())))
    name = Name(file=FileMeta("a", 2, 0.0, "", 0, old)).replaced(new, 7.0)
    assert name.file == new
    assert [(each.since_s, each.blocks) for each in name.trash] == [(7.0, (old[1],))]
    assert Name().stored() is None


def test_errors_travel_between_processes() -> None:
    error = pickle.loads(pickle.dumps(RingUnavailable("no majority", maybe_done=True)))
    assert (str(error), error.maybe_done) == ("no majority", True)
    assert isinstance(error, OSError)
