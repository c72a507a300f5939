"""Timers fire once each, at the earliest moment that was asked for."""

from pyrite.cluster.timers import Timers
from pyrite.ids import AttemptId, StageId
from pyrite.schedule.commands import SetTimer
from pyrite.schedule.events import TimerFired
from pyrite.schedule.timer import CancelGrace, LocalityWait, SpeculationCheck

A, B, C = CancelGrace(AttemptId(0)), LocalityWait(StageId(0)), CancelGrace(AttemptId(1))
SLOW = SpeculationCheck()


def test_those_that_are_due_fire_once_and_in_order() -> None:
    timers = Timers()
    for timer, at_s in ((B, 2.0), (A, 1.0), (C, 3.0)):
        timers.set(SetTimer(timer, at_s))
    assert timers.next_s() == 1.0
    assert timers.take_due(0.9) == []
    assert timers.take_due(2.0) == [TimerFired(A), TimerFired(B)]
    assert timers.take_due(2.0) == []
    assert timers.next_s() == 3.0


def test_of_two_times_of_one_timer_the_first_counts() -> None:
    timers = Timers()
    for at_s in (5.0, 2.0, 7.0):
        timers.set(SetTimer(SLOW, at_s))
    assert timers.take_due(10.0) == [TimerFired(SLOW)]
    assert timers.next_s() is None


def test_a_timer_can_be_set_again_after_it_fired() -> None:
    timers = Timers()
    timers.set(SetTimer(SLOW, 1.0))
    assert timers.take_due(1.0) == [TimerFired(SLOW)]
    timers.set(SetTimer(SLOW, 4.0))
    assert timers.take_due(4.0) == [TimerFired(SLOW)]
