"""What an executor does when its agent signals: its task is cancelled, or a node was given up."""

from __future__ import annotations

import signal
import threading
from types import FrameType

from pyrite.cluster.node.cancelflag import CancelFlag
from pyrite.cluster.node.lostpeers import LostPeers
from pyrite.execute.collector import Collector
from pyrite.execute.worker import Worker

# How soon to look again whether the task may be interrupted.
AGAIN_S = 0.01
IMPORTS = "<frozen importlib."
# Called by the interpreter, which prints an exception from there and goes on.
COLLECTION = Collector.on_collection.__code__


class CancelHandler:
    """Interrupts the task that the flag names, but neither an import nor where it would be lost.

    A package whose import is broken off is removed from sys.modules, but those of its modules
    that were loaded already stay there and refer to the broken package: numpy, say, would fail in
    every later task of the executor.
    """

    def __init__(self, worker: Worker, flag: CancelFlag, lost: LostPeers) -> None:
        self.worker = worker
        self.flag = flag
        self.lost = lost

    def __call__(self, number: int, frame: FrameType | None) -> None:
        for address in self.lost.take():
            self.worker.store.give_up(address)
        if must_go_on(frame):
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


def must_go_on(frame: FrameType | None) -> bool:
    """Whether a module is being loaded somewhere up the stack, or exceptions don't get through."""
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(IMPORTS) or code.co_name == "__del__" or code is COLLECTION:
            return True
        frame = frame.f_back
    return False
