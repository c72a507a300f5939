"""Seconds by row, as a workload measures them around the part that counts."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """The times, and the other figures, of one run of one workload."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.figures: dict[str, float] = {}

    @contextmanager
    def timed(self, row: str) -> Iterator[None]:
        """Record how long the block takes as the time of `row`."""
        began_s = time.perf_counter()
        yield
        self.seconds[row] = time.perf_counter() - began_s

    def record(self, row: str, seconds: float) -> None:
        """Record a time that was measured elsewhere."""
        self.seconds[row] = seconds

    def note(self, name: str, figure: float) -> None:
        """Record a figure that is not the time of a row, such as a size in bytes."""
        self.figures[name] = figure
