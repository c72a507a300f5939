"""Threads of the driver as the operating system runs them."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pyrite.cluster.waitqueue import WaitQueue


class FreeThreads:
    """Threads that run at once, and wait for each other."""

    def start(self, work: Callable[[], None], name: str) -> threading.Thread:
        thread = threading.Thread(target=work, name=name, daemon=True)
        thread.start()
        return thread

    def wait(
        self,
        changed: WaitQueue,
        ready: Callable[[], object],
        timeout_s: float | None = None,
    ) -> bool:
        return changed.wait_for(ready, timeout_s)
