"""What fetching costs: how long it takes the network, and what it takes from the processor."""

from __future__ import annotations

import os
import threading
import time
from typing import NamedTuple

# Idle time is counted in ticks of a hundredth of a second: a shorter look says nothing.
LEAST_LOOK_S = 0.2
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class MeasuredFetch(NamedTuple):
    """Seconds that a fetch had the network to itself, and processor seconds that others lacked."""

    link_s: float = 0.0
    taken_s: float = 0.0


class IdleCores:
    """How many of the machine's cores were idle lately; any thread may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._looked_s, self._idle_s = time.monotonic(), idle_s()
        self._cores = 0.0

    def cores(self) -> float:
        with self._lock:
            now_s = time.monotonic()
            passed_s = now_s - self._looked_s
            if passed_s >= LEAST_LOOK_S:
                idle = idle_s()
                self._cores = (idle - self._idle_s) / passed_s
                self._looked_s, self._idle_s = now_s, idle
            return self._cores


class FetchWatch:
    """Measures one order, on the thread that carries it out."""

    def __init__(self, idle: IdleCores) -> None:
        self._idle = idle
        self._began_s = time.perf_counter()
        self._worked_s, self._queued_s = time.thread_time(), queued_s()

    def cost(self, under_way: int = 1) -> MeasuredFetch:
        """The cost so far, of one of so many orders that share the network.

        While this thread has no core, nothing is said of the network. Where a core is idle, work
        costs nobody.
        """
        passed_s = time.perf_counter() - self._began_s
        worked_s = time.thread_time() - self._worked_s
        link_s = max(worked_s, passed_s - (queued_s() - self._queued_s)) / under_way
        taken = min(1.0, max(0.0, 1.0 - self._idle.cores()))
        return MeasuredFetch(link_s, worked_s * taken)


def idle_s() -> float:
    """Seconds that all cores were idle since the start; 0 where the kernel does not say."""
    try:
        with open("/proc/stat") as file:
            fields = file.readline().split()
    except OSError:
        return 0.0
    return TICK_S * (int(fields[4]) + int(fields[5]))


def queued_s() -> float:
    """Seconds that this thread was ready but had no core; 0 where the kernel does not say."""
    try:
        with open("/proc/thread-self/schedstat") as file:
            return int(file.readline().split()[1]) * 1e-9
    except (OSError, IndexError):
        return 0.0
