"""Writes what executors of other nodes print to the driver's errors."""

from __future__ import annotations

import contextlib
import queue
import sys
import threading
from collections.abc import Sequence

# Lines that arrive while so many texts wait to be written are left out.
MOST_WAITING = 1000
CLOSE_S = 1.0


class Printer:
    """Writes in a thread of its own: nobody may read the driver's errors for a while, and its loop
    must not wait for that."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[str | None] = queue.Queue(MOST_WAITING)
        self._thread: threading.Thread | None = None

    def show(self, prefix: str, lines: Sequence[str]) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="pyrite-output", daemon=True)
            self._thread.start()
        with contextlib.suppress(queue.Full):
            self._waiting.put_nowait("".join(f"{prefix}{line}\n" for line in lines))

    def _serve(self) -> None:
        while (text := self._waiting.get()) is not None:
            # The program may have closed its streams, or have one of its own that fails.
            with contextlib.suppress(Exception):
                sys.stderr.write(text)
                sys.stderr.flush()

    def close(self) -> None:
        """Waits a moment for what is still to be written."""
        if self._thread is not None:
            with contextlib.suppress(queue.Full):
                self._waiting.put_nowait(None)
            self._thread.join(CLOSE_S)
