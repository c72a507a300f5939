"""How often an executor's garbage collector looks for cycles."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

from pyrite.bounded.processmemory import private_bytes
from pyrite.metrics import COUNTS

# Allocations of containers, net of those freed, between two collections of the young.
FEWEST = 2_000
MOST_AT_FIRST = 200_000
MOST_WITH_GARBAGE = 50_000
MOST = 2_000_000
FASTEST_GROWTH = 4
# The young may take this share of the executor's memory before they are looked at.
_SHARE = 8
# What a container and its values are taken to weigh until it is known, and at least.
_GUESSED_BYTES = 2048
_LEAST_BYTES = 256


class Collector:
    """Sets the collector's threshold by what lies between two collections.

    Batches of rows are no garbage, and a collection walks over all of them: few are best. But
    cycles that the user's rows form are only freed by one, so the threshold grows only while
    collections find no garbage, and as far as the process grows slowly between them.
    """

    def __init__(self, memory_bytes: int, measure: Callable[[], int] = private_bytes) -> None:
        self.share_bytes = memory_bytes // _SHARE
        self.first = max(FEWEST, min(self.share_bytes // _GUESSED_BYTES, MOST_AT_FIRST))
        self.most = max(FEWEST, min(self.share_bytes // _LEAST_BYTES, MOST))
        self.threshold = self.first
        self._measure = measure
        self._level = 0
        self._grown = 1
        self._began_s = 0.0

    def install(self) -> None:
        """Takes over this process's collector."""
        self.start_task()
        gc.callbacks.append(self.on_collection)

    def start_task(self) -> None:
        """Forgets what earlier tasks were like."""
        self._level = self._measure()
        self._set(self.first)

    def on_collection(self, phase: str, info: dict[str, Any]) -> None:
        """Called by the interpreter before and after each collection."""
        level = self._measure()
        if phase == "start":
            self._began_s = time.perf_counter()
            self._grown = max(level - self._level, 1)
            return
        self._level = level
        COUNTS.gc_s += time.perf_counter() - self._began_s
        most = self.most if info["collected"] == 0 else MOST_WITH_GARBAGE
        fitting = self.threshold * self.share_bytes // self._grown
        self._set(max(FEWEST, min(self.threshold * FASTEST_GROWTH, fitting, most)))

    def _set(self, threshold: int) -> None:
        self.threshold = threshold
        gc.set_threshold(threshold, 20, 50)
