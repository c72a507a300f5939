"""Events of the driver's own keep their order, and those of objects come when these go."""

from __future__ import annotations

import gc
import sys
from typing import Any

import pytest

from pyrite.cluster.posted import Posted
from pyrite.ids import BroadcastId, RddId, ShuffleId
from pyrite.schedule.events import BroadcastForgotten, RddForgotten, ShuffleForgotten


class Owner:
    def __init__(self) -> None:
        self.me: Any = None


def take_all(posted: Posted) -> list[Any]:
    taken = []
    while posted.has_event():
        taken.append(posted.take())
    return taken


@pytest.fixture
def woken() -> list[bytes]:
    return []


@pytest.fixture
def posted(woken: list[bytes]) -> Posted:
    return Posted(woken.append)


def test_events_keep_their_order(posted: Posted, woken: list[bytes]) -> None:
    owner = Owner()
    posted.post_when_gone(owner, RddForgotten(RddId(1)))
    posted.post(ShuffleForgotten(ShuffleId(0)))
    assert len(woken) == 1
    del owner
    assert len(woken) == 2
    posted.post(ShuffleForgotten(ShuffleId(2)))
    assert take_all(posted) == [
        ShuffleForgotten(ShuffleId(0)),
        RddForgotten(RddId(1)),
        ShuffleForgotten(ShuffleId(2)),
    ]
    assert not posted.departures


def test_several_events_of_one_object(posted: Posted) -> None:
    owner = Owner()
    owner.me = owner
    for number in range(3):
        posted.post_when_gone(owner, BroadcastForgotten(BroadcastId(number)))
    del owner
    assert not posted.has_event()
    gc.collect()
    assert set(take_all(posted)) == {BroadcastForgotten(BroadcastId(number)) for number in range(3)}


def test_one_that_is_told_before_is_told_once(posted: Posted) -> None:
    owner = Owner()
    tell = posted.post_when_gone(owner, RddForgotten(RddId(1)))
    tell()
    tell()
    del owner
    assert take_all(posted) == [RddForgotten(RddId(1))]


def test_what_is_to_be_done_is_done_in_its_turn(posted: Posted) -> None:
    one, other, done = Owner(), Owner(), []
    posted.call_when_gone(one, lambda: done.append("one"))
    posted.call_when_gone(other, lambda: done.append("other"))
    del one
    posted.post(RddForgotten(RddId(1)))
    del other
    assert done == []
    assert posted.has_event()
    assert done == ["one"]
    assert posted.take() == RddForgotten(RddId(1))
    assert not posted.has_event()
    assert done == ["one", "other"]
    assert not posted.departures


def test_those_that_go_after_the_end_wake_nobody(posted: Posted, woken: list[bytes]) -> None:
    owner, late = Owner(), Owner()
    posted.post_when_gone(owner, RddForgotten(RddId(1)))
    posted.close()
    posted.post_when_gone(late, RddForgotten(RddId(2)))
    del owner, late
    assert not woken and not posted.has_event()


def test_no_interrupt_comes_while_an_object_goes(posted: Posted, woken: list[bytes]) -> None:
    """Python looks for signals between its own steps, and here are none."""
    lines: list[Any] = []
    owner = Owner()
    posted.post_when_gone(owner, RddForgotten(RddId(1)))
    before = sys.gettrace()
    sys.settrace(lambda frame, *_: lines.append(frame.f_code.co_name))
    del owner
    sys.settrace(before)
    assert lines == []
    assert take_all(posted) == [RddForgotten(RddId(1))] and len(woken) == 1
