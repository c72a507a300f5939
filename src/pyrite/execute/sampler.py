"""Samples where tasks are, so many times a second: for flame graphs."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from types import FrameType

from pyrite.execute.traces import is_ours

# Deeper stacks are cut at their root.
MOST_FRAMES = 100
# Of one task; the rarest are left out.
MOST_STACKS = 500


class StackSampler:
    """A thread that looks at the stack of the task's thread, while a task runs.

    It needs no signal, which a program may use itself; inside a library's loop that holds the
    interpreter, it looks as soon as the loop ends, and finds the same line.
    """

    def __init__(self, hertz: float) -> None:
        self.pause_s = 1 / hertz
        self.watched = threading.get_ident()
        self.stacks: Counter[str] = Counter()
        self.running = threading.Event()
        self.taken = threading.Lock()
        threading.Thread(target=self._loop, name="pyrite-sampler", daemon=True).start()

    def start(self) -> None:
        with self.taken:
            self.stacks.clear()
        self.running.set()

    def stop(self) -> tuple[tuple[str, int], ...]:
        """The stacks since the start, each with how often it was seen."""
        self.running.clear()
        with self.taken:
            return tuple(self.stacks.most_common(MOST_STACKS))

    def _loop(self) -> None:
        pause = threading.Event()
        while True:
            self.running.wait()
            pause.wait(self.pause_s)
            frame = sys._current_frames().get(self.watched)
            with self.taken:
                if frame is not None and self.running.is_set():
                    self.stacks[stack_text(frame)] += 1


def stack_text(frame: FrameType | None) -> str:
    """The calls from the root to the top, without the engine's; `engine` where there are no
    others."""
    found: list[str] = []
    while frame is not None and len(found) < MOST_FRAMES:
        code = frame.f_code
        if not is_ours(code.co_filename, code.co_name):
            found.append(f"{code.co_qualname} ({code.co_filename}:{frame.f_lineno})")
        frame = frame.f_back
    return ";".join(reversed(found)).replace("\n", " ") or "engine"
