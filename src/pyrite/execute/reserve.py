"""Memory that an executor sets aside, to report a task that has used up all of its own."""

from __future__ import annotations

import contextlib
import gc
import resource

RESERVE_BYTES = 4 << 20
# A program may have linked its exceptions in a circle.
MOST_LINKS = 1000


class Reserve:
    """Bytes that are never written to, so that they cost address space and no memory."""

    def __init__(self) -> None:
        self.held = b""
        self.refill()

    def refill(self) -> None:
        """Sets memory aside again; without success if the last task's has not come back."""
        if not self.held:
            with contextlib.suppress(MemoryError):
                self.held = bytes(RESERVE_BYTES)

    def release(self, error: BaseException) -> None:
        """Gives up the reserve, and what the variables of the failed functions hold."""
        self.held = b""
        link: BaseException | None = error
        for _ in range(MOST_LINKS):
            if link is None:
                break
            release_variables(link)
            # A MemoryError while clauses such as `finally` run has the first one behind it.
            link = link.__cause__ or link.__context__
        gc.collect()


def release_variables(error: BaseException) -> None:
    """Frees what the frames of an exception hold; a frame that still runs keeps its variables."""
    trace = error.__traceback__
    while trace is not None:
        with contextlib.suppress(RuntimeError):
            trace.tb_frame.clear()
        trace = trace.tb_next


def is_lost_memory_error(error: BaseException, most_bytes: int) -> bool:
    """Whether CPython lost a MemoryError: it may raise SystemError instead."""
    is_lost = isinstance(error, SystemError) and "without" in str(error)
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    return is_lost and peak_bytes > most_bytes
