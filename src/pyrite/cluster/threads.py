"""Threads of the driver as the operating system runs them."""

from __future__ import annotations

import threading
from collections.abc import Callable


class FreeThreads:
    """Threads that run at once, and wait for each other by condition variables."""

    def start(self, work: Callable[[], None], name: str) -> threading.Thread:
        thread = threading.Thread(target=work, name=name, daemon=True)
        thread.start()
        return thread

    def wait(
        self,
        changed: threading.Condition,
        ready: Callable[[], object],
        timeout_s: float | None = None,
    ) -> bool:
        with changed:
            return bool(changed.wait_for(ready, timeout_s))
