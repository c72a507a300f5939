"""How often an executor's garbage collector looks for cycles."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

from pyrite.bounded.processmemory import private_bytes, return_freed_memory
from pyrite.metrics import COUNTS

# Allocations of containers, net of those freed, between two collections of the young.
FEWEST = 2_000
MOST_AT_FIRST = 200_000
MOST_WITH_GARBAGE = 50_000
MOST = 2_000_000
FASTEST_GROWTH = 4
# The young may take this share of the executor's memory before they are looked at.
_SHARE = 8
# A task may find this share of the memory taken by what was there before it, kept rows aside.
_TAKEN_SHARE = 2
# What a container and its values are taken to weigh until it is known, and at least.
_GUESSED_BYTES = 2048
_LEAST_BYTES = 256


class Collector:
    """Sets the collector's threshold by what lies between two collections.

    Batches of rows are no garbage, and a collection walks over all of them: few are best. But
    cycles that the user's rows form are only freed by one, so the threshold grows only while
    collections find no garbage, and as far as the process grows slowly between them.

    A task may leave much that only a full collection frees: cycles, and free lists whose few
    entries hold pages. The next task would be short of memory before its first row.
    """

    def __init__(
        self,
        memory_bytes: int,
        measure: Callable[[], int] = private_bytes,
        kept_bytes: Callable[[], int] = lambda: 0,
    ) -> None:
        self.memory_bytes = memory_bytes
        self.share_bytes = memory_bytes // _SHARE
        self.first = max(FEWEST, min(self.share_bytes // _GUESSED_BYTES, MOST_AT_FIRST))
        self.most = max(FEWEST, min(self.share_bytes // _LEAST_BYTES, MOST))
        self.threshold = self.first
        self._measure = measure
        self._kept_bytes = kept_bytes
        self._level = 0
        # What was left when all garbage was freed for the last time.
        self._left = 0
        self._grown = 1
        self._began_s = 0.0

    def install(self) -> None:
        """Takes over this process's collector."""
        self.start_task()
        gc.callbacks.append(self.on_collection)

    def start_task(self) -> None:
        """Forgets what earlier tasks were like, and frees what they left if that is much."""
        self._level = level = self._measure()
        # What was left once would be left again: look only where there is more.
        self._left = min(self._left, level)
        if self._is_much(level) and level - self._left >= self.share_bytes:
            gc.collect()
            return_freed_memory()
            self._left = self._level = self._measure()
        self._set(self.first)

    def _is_much(self, level: int) -> bool:
        kept = self._kept_bytes()
        return (level - kept) * _TAKEN_SHARE > self.memory_bytes - kept

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
