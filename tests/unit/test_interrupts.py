"""Ctrl-C is put off where something must not be left half done, and comes where it may."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from pyrite import interrupts
from pyrite.cluster.waitqueue import WaitQueue
from pyrite.interrupts import Interruptible, Uninterrupted


def press() -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.fixture(autouse=True)
def handler() -> Iterator[Any]:
    """Python's own handler, which must be there again at the end."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def test_it_comes_at_the_end_of_the_block() -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt), Uninterrupted():
        press()
        steps.append("goes on")
    assert steps == ["goes on"]


def test_it_comes_at_the_end_of_the_outermost_block() -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt), Uninterrupted():
        with Uninterrupted():
            press()
        steps.append("goes on")
    assert steps == ["goes on"]


def test_it_comes_at_once_where_it_may() -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt), Uninterrupted():
        with Interruptible():
            press()
            steps.append("never")
        steps.append("never")
    assert steps == []


def test_one_that_was_put_off_comes_where_it_may() -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt), Uninterrupted():
        press()
        steps.append("goes on")
        with Interruptible():
            steps.append("never")
    assert steps == ["goes on"]


def test_a_second_one_does_not_break_what_the_first_unwinds() -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt) as caught, Uninterrupted():
        try:
            with Interruptible():
                press()
        finally:
            press()
            steps.append("cleaned up")
    assert steps == ["cleaned up"]
    # Both are one.
    assert caught.value.__context__ is None
    with Uninterrupted(), Interruptible():
        steps.append("no other comes")
    assert len(steps) == 2


def test_a_second_one_breaks_off_the_waiting_of_the_first() -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt), Uninterrupted():
        try:
            with Interruptible():
                press()
        finally:
            steps.append("cancelled")
            with Interruptible():
                press()
                steps.append("never")
    assert steps == ["cancelled"]


def test_it_comes_after_another_error_too() -> None:
    with pytest.raises(KeyboardInterrupt) as caught, Uninterrupted():
        press()
        raise LookupError
    assert isinstance(caught.value.__context__, LookupError)


def test_a_block_inside_an_interruptible_one_is_whole() -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt), Uninterrupted(), Interruptible():
        with Uninterrupted():
            press()
            steps.append("goes on")
        steps.append("never")
    assert steps == ["goes on"]


def test_a_handler_of_the_programs_own_is_called_and_stays() -> None:
    seen = []

    def note(*given: Any) -> None:
        seen.append(given)

    signal.signal(signal.SIGINT, note)
    with Uninterrupted():
        press()
        assert seen == []
        with Interruptible():
            assert len(seen) == 1
            press()
            press()
            assert len(seen) == 3
        press()
        assert len(seen) == 3
    assert len(seen) == 4
    assert all(number == signal.SIGINT and frame is not None for number, frame in seen)
    assert signal.getsignal(signal.SIGINT) is note
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_a_handler_that_is_set_meanwhile_stays() -> None:
    with Uninterrupted():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    with Uninterrupted():
        press()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_who_presses_after_a_long_while_gets_out(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 100.0
    monkeypatch.setattr(interrupts.time, "monotonic", lambda: now_s)
    steps = []
    with pytest.raises(KeyboardInterrupt), Uninterrupted():
        press()
        now_s += interrupts.PATIENCE_S / 2
        press()
        steps.append("not yet")
        now_s += interrupts.PATIENCE_S
        press()
        steps.append("never")
    assert steps == ["not yet"]


def test_other_threads_have_nothing_to_do_with_it() -> None:
    steps = []

    def work() -> None:
        with Uninterrupted(), Interruptible():
            steps.append("done")

    with Uninterrupted():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        press_is_put_off = True
        try:
            press()
        except KeyboardInterrupt:
            press_is_put_off = False
        assert press_is_put_off
        # This test's own.
        interrupts._main.pending_since_s = None
    assert steps == ["done"]


def test_the_fork_of_another_thread_can_be_interrupted() -> None:
    codes = []

    def fork() -> None:
        pid = os.fork()
        if pid == 0:
            try:
                press()
            except KeyboardInterrupt:
                os._exit(3)
            os._exit(0)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

    with Uninterrupted():
        thread = threading.Thread(target=fork)
        thread.start()
        thread.join()
    assert codes == [3]


class TestWaitQueue:
    def test_waits_until_it_is_ready(self) -> None:
        queue, there = WaitQueue(), []
        waiting = threading.Event()

        def ready() -> bool:
            waiting.set()
            return bool(there)

        def change() -> None:
            waiting.wait()
            queue.wake_all()
            there.append(1)
            queue.wake_all()

        thread = threading.Thread(target=change)
        thread.start()
        assert queue.wait_for(ready)
        thread.join()

    def test_gives_up_when_the_time_is_over(self) -> None:
        assert not WaitQueue().wait_for(lambda: False, 0.001)
        assert WaitQueue().wait_for(lambda: True, 0.0)

    def test_an_interrupt_breaks_the_waiting_and_nothing_else(self) -> None:
        queue, there = WaitQueue(), []
        waiting = threading.Event()

        def ready() -> bool:
            waiting.set()
            return bool(there)

        def interrupt() -> None:
            waiting.wait()
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt), Uninterrupted():
            queue.wait_for(ready)
        thread.join()
        there.append(1)
        queue.wake_all()
        assert queue.wait_for(ready)

    def test_where_the_answer_must_be_taken_it_comes_afterwards(self) -> None:
        queue, there = WaitQueue(is_interruptible=False), []
        waiting = threading.Event()

        def ready() -> bool:
            waiting.set()
            return bool(there)

        def interrupt() -> None:
            waiting.wait()
            os.kill(os.getpid(), signal.SIGINT)
            there.append(1)
            queue.wake_all()

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt), Uninterrupted():
            assert queue.wait_for(ready)
            there.append(2)
        thread.join()
        assert there == [1, 2]
