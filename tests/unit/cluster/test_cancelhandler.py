"""When a signal interrupts a task, and when it comes again later."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from idle import wait_until

from pyrite.cluster.node.cancelflag import CancelFlag
from pyrite.cluster.node.cancelhandler import CancelHandler
from pyrite.execute.collector import Collector

NUMBER = signal.SIGURG


class Told:
    """A worker that notes what it is told to cancel."""

    def __init__(self) -> None:
        self.attempts: list[int] = []

    def interrupt(self, attempt: int) -> None:
        self.attempts.append(attempt)


class NoPeers:
    def take(self) -> list[Any]:
        return []


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def handler(told: Told) -> Iterator[CancelHandler]:
    flag = CancelFlag()
    flag.set(7)
    made = CancelHandler(told, flag, NoPeers())  # type: ignore[arg-type]
    before = signal.signal(NUMBER, made)
    yield made
    signal.signal(NUMBER, before)


def later(told: Told) -> list[int]:
    """What it is told when the signal comes again."""
    wait_until(lambda: told.attempts, "the signal")
    return told.attempts


def test_a_task_is_interrupted_at_once(told: Told, handler: CancelHandler) -> None:
    handler(NUMBER, sys._getframe())
    assert told.attempts == [7]


def test_a_collection_is_not_interrupted(told: Told, handler: CancelHandler) -> None:
    def measure() -> int:
        handler(NUMBER, sys._getframe())
        return 0

    Collector(1 << 30, measure).on_collection("start", {})
    assert not told.attempts
    assert later(told) == [7]


def test_a_destructor_is_not_interrupted(told: Told, handler: CancelHandler) -> None:
    class Row:
        def __del__(self) -> None:
            handler(NUMBER, sys._getframe())

    Row()
    assert not told.attempts
    assert later(told) == [7]
