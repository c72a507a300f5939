"""What an executor does when the driver cancels its task by a signal."""

from __future__ import annotations

import signal
import threading
from types import FrameType

from pyrite.cluster.local.cancelflag import CancelFlag
from pyrite.execute.worker import Worker

# How soon to look again whether an import is over.
AGAIN_S = 0.01
IMPORTS = "<frozen importlib."


class CancelHandler:
    """Interrupts the task that the flag names, wherever it is, but never an import.

    A package whose import is broken off is removed from sys.modules, but those of its modules
    that were loaded already stay there and refer to the broken package: numpy, say, would fail in
    every later task of the executor.
    """

    def __init__(self, worker: Worker, flag: CancelFlag) -> None:
        self.worker = worker
        self.flag = flag

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if is_importing(frame):
            self._call_again(number)
        else:
            self.worker.interrupt(self.flag.get())

    def _call_again(self, number: int) -> None:
        # A timer of the kernel would take a signal that user code may use. To the main thread, so
        # that the signal also breaks off what this thread waits for.
        main = threading.main_thread().ident
        again = threading.Timer(AGAIN_S, signal.pthread_kill, (main, number))
        again.daemon = True
        again.start()


def is_importing(frame: FrameType | None) -> bool:
    """Whether a module is being loaded somewhere up the stack."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(IMPORTS):
            return True
        frame = frame.f_back
    return False
