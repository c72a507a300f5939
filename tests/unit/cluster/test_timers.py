"""Timers fire once each, at the earliest moment that was asked for."""

from pyrite.cluster.timers import Timers
from pyrite.schedule.commands import SetTimer
from pyrite.schedule.events import TimerFired


def test_those_that_are_due_fire_once_and_in_order() -> None:
    timers = Timers()
    for name, at_s in (("b", 2.0), ("a", 1.0), ("c", 3.0)):
        timers.set(SetTimer(name, at_s))
    assert timers.next_s() == 1.0
    assert timers.take_due(0.9) == []
    assert timers.take_due(2.0) == [TimerFired("a"), TimerFired("b")]
    assert timers.take_due(2.0) == []
    assert timers.next_s() == 3.0


def test_of_two_times_under_one_name_the_first_counts() -> None:
    timers = Timers()
    for at_s in (5.0, 2.0, 7.0):
        timers.set(SetTimer("slow", at_s))
    assert timers.take_due(10.0) == [TimerFired("slow")]
    assert timers.next_s() is None


def test_a_timer_can_be_set_again_after_it_fired() -> None:
    timers = Timers()
    timers.set(SetTimer("slow", 1.0))
    assert timers.take_due(1.0) == [TimerFired("slow")]
    timers.set(SetTimer("slow", 4.0))
    assert timers.take_due(4.0) == [TimerFired("slow")]
