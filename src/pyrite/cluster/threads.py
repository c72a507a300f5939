"""Threads of the driver as the operating system runs them."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pyrite.cluster.waitqueue import WaitQueue


class FreeThreads:
    """Real threads, in contrast to those of the simulator, which take turns."""

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
