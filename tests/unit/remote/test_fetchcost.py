"""What a fetch costs: time of the network, and processor time that tasks lack."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest

from pyrite.remote import fetchcost
from pyrite.remote.fetchcost import LEAST_LOOK_S, FetchWatch, IdleCores, idle_s, queued_s


@dataclass
class Clocks:
    """All clocks of a thread, and the idle time of the machine."""

    passed_s: float = 0.0
    worked_s: float = 0.0
    queued_s: float = 0.0
    idle_s: float = 0.0

    def pass_time(self, seconds: float, worked: float, queued: float, idle_cores: float) -> None:
        self.passed_s += seconds
        self.worked_s += worked
        self.queued_s += queued
        self.idle_s += idle_cores * seconds


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    clocks = Clocks()
    monkeypatch.setattr(time, "perf_counter", lambda: clocks.passed_s)
    monkeypatch.setattr(time, "monotonic", lambda: clocks.passed_s)
    monkeypatch.setattr(time, "thread_time", lambda: clocks.worked_s)
    monkeypatch.setattr(fetchcost, "queued_s", lambda: clocks.queued_s)
    monkeypatch.setattr(fetchcost, "idle_s", lambda: clocks.idle_s)
    return clocks


def test_the_network_is_not_blamed_for_a_thread_that_has_no_core(clocks: Clocks) -> None:
    watch = FetchWatch(IdleCores())
    clocks.pass_time(1.0, worked=0.1, queued=0.4, idle_cores=0.0)
    assert watch.cost() == pytest.approx((0.6, 0.1))
    # Three orders at once share the link.
    assert watch.cost(3).link_s == pytest.approx(0.2)


def test_a_fetch_that_only_works_takes_the_network_as_long(clocks: Clocks) -> None:
    watch = FetchWatch(IdleCores())
    clocks.pass_time(1.0, worked=0.6, queued=0.5, idle_cores=0.0)
    assert watch.cost() == pytest.approx((0.6, 0.6))


@pytest.mark.parametrize(
    ("idle_cores", "taken_s"), [(0.0, 0.2), (0.25, 0.15), (1.0, 0.0), (7.5, 0)]
)
def test_where_cores_are_idle_nothing_is_taken(
    clocks: Clocks, idle_cores: float, taken_s: float
) -> None:
    watch = FetchWatch(IdleCores())
    clocks.pass_time(2.0, worked=0.2, queued=0.0, idle_cores=idle_cores)
    assert watch.cost().taken_s == pytest.approx(taken_s)


def test_idle_cores_are_those_of_the_last_look(clocks: Clocks) -> None:
    idle = IdleCores()
    clocks.pass_time(LEAST_LOOK_S / 2, 0, 0, idle_cores=2.0)
    assert idle.cores() == 0.0
    clocks.pass_time(LEAST_LOOK_S / 2, 0, 0, idle_cores=1.0)
    assert idle.cores() == pytest.approx(1.5)
    clocks.pass_time(LEAST_LOOK_S / 2, 0, 0, idle_cores=0.0)
    assert idle.cores() == pytest.approx(1.5)
    clocks.pass_time(LEAST_LOOK_S, 0, 0, idle_cores=0.0)
    assert idle.cores() == pytest.approx(0.0)


def test_the_kernel_tells() -> None:
    assert idle_s() > 0.0
    assert queued_s() >= 0.0
