"""Threads that wait until another one has changed something."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from pyrite.interrupts import Interruptible, Uninterrupted

LONGEST_SLEEP_S = 1.0


class WaitQueue:
    """Sleeping threads, woken all at once.

    Unlike a threading.Condition it survives a Ctrl-C at any moment: a sleeping thread holds no
    lock, and an interrupted one leaves only an entry behind that wakes nobody.
    """

    def __init__(self, is_interruptible: bool = True) -> None:
        self.is_interruptible = is_interruptible
        self.lock = threading.Lock()
        self.sleepers: list[threading.Lock] = []

    def wake_all(self) -> None:
        """Has each thread check its condition again; call it after the change."""
        with self.lock:
            sleepers, self.sleepers = self.sleepers, []
        for sleeper in sleepers:
            sleeper.release()

    def wait_for(self, ready: Callable[[], object], timeout_s: float | None = None) -> bool:
        """Sleeps until `ready()` is true or the timeout expires; returns whether it is true.

        One thread at a time calls `ready`.
        """
        end_s = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            with self.lock:
                if ready():
                    return True
                sleeper = threading.Lock()
                sleeper.acquire()
                self.sleepers.append(sleeper)
            if end_s is not None and time.monotonic() >= end_s:
                return False
            with Interruptible() if self.is_interruptible else Uninterrupted():
                sleep(sleeper, end_s)


def sleep(sleeper: threading.Lock, end_s: float | None) -> None:
    """Sleeps until it is woken or the time is over."""
    while True:
        left_s = LONGEST_SLEEP_S if end_s is None else max(0.0, end_s - time.monotonic())
        # In slices: a signal that arrives just before the thread sleeps in C does not wake it.
        if sleeper.acquire(timeout=min(LONGEST_SLEEP_S, left_s)) or left_s == 0.0:
            return
