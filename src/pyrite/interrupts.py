"""Ctrl-C in the main thread: it breaks off waiting at once, and bookkeeping never.

Python raises KeyboardInterrupt between any two steps of the main thread, also in the middle of
cleaning up after the last one. `Uninterrupted` puts it off while something is done that must not
be left half done; `Interruptible` marks the places inside where it may come. The first interrupt
closes the place that it came through, so that a second can't break what the first one unwinds.

Masking the signal would not do: the kernel gives it to any thread that does not mask it, and
Python runs the handler in the main thread all the same.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

# Who presses again so long after an interrupt that was put off wants out, whatever breaks.
PATIENCE_S = 10.0

Handler = Callable[[int, FrameType | None], Any]

# The functions of the module signal look for an enum of each handler, ten times as long.
get_handler: Callable[[int], Any] = _signal.getsignal
set_handler: Callable[[int, Any], Any] = _signal.signal


class _MainThread:
    """Whether the main thread can be interrupted now, and whether somebody has tried."""

    def __init__(self) -> None:
        self.depth = 0
        self.is_open = False
        self.pending_since_s: float | None = None
        self.ident = 0
        # The program's own handler, while ours is in its place.
        self.handler: Handler | None = None
        self.ours: Handler = self.handle

    def close(self) -> bool:
        """Puts interrupts off; gives whether they could come until now."""
        was_open, self.is_open = self.is_open, False
        if self.depth == 0:
            self.pending_since_s = None
            self.ident = threading.get_ident()
            handler = get_handler(signal.SIGINT)
            # Where Python does not handle the signal, there is nothing to put off.
            self.handler = handler if callable(handler) else None
            if self.handler is not None:
                set_handler(signal.SIGINT, self.ours)
        self.depth += 1
        return was_open

    def reopen(self, was_open: bool, error: type[BaseException] | None) -> None:
        """Takes `close` back; an interrupt that was put off comes now."""
        self.depth -= 1
        if self.depth == 0:
            self._restore()
        elif was_open:
            self.is_open = True
        else:
            return
        # Two presses that come together are one interrupt.
        if error is not None and issubclass(error, KeyboardInterrupt):
            self.pending_since_s = None
        self.deliver(None)

    def _restore(self) -> None:
        # The program may have set another one meanwhile.
        if self.handler is not None and get_handler(signal.SIGINT) is self.ours:
            set_handler(signal.SIGINT, self.handler)

    def handle(self, number: int, frame: FrameType | None) -> None:
        now_s = time.monotonic()
        if self.pending_since_s is None:
            self.pending_since_s = now_s
        if self.is_open or now_s - self.pending_since_s > PATIENCE_S:
            self.deliver(frame)

    def deliver(self, frame: FrameType | None) -> None:
        """Has the program's own handler do what it does, if an interrupt has come."""
        if self.pending_since_s is None or self.handler is None:
            return
        was_open, self.is_open = self.is_open, False
        self.pending_since_s = None
        self.handler(signal.SIGINT, frame or sys._getframe())
        # It did not raise: the program goes on.
        self.is_open = was_open

    def forget_in_fork(self) -> None:
        """In the fork of another thread the main one, and all that it did, is gone."""
        if self.depth and self.ident != threading.get_ident():
            self._restore()
            self.depth = 0
            self.is_open = False


_main = _MainThread()
os.register_at_fork(after_in_child=_main.forget_in_fork)


def is_pending() -> bool:
    """Whether an interrupt was put off; callable from any thread."""
    return _main.depth > 0 and _main.pending_since_s is not None


def is_main() -> bool:
    """Whether this is the thread that interrupts come to."""
    return threading.get_ident() == threading.main_thread().ident


class Uninterrupted:
    """A block that Ctrl-C does not leave half done: it comes at the end, or where it is let in.

    >>> with Uninterrupted():
    ...     steps = ["begun"]
    ...     steps.append("ended")
    """

    __slots__ = ("is_main", "was_open")

    def __enter__(self) -> None:
        self.is_main = is_main()
        if self.is_main:
            self.was_open = _main.close()

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if self.is_main:
            _main.reopen(self.was_open, error)


class Interruptible:
    """A block inside an uninterrupted one where Ctrl-C may come at once."""

    __slots__ = ("was_closed",)

    def __enter__(self) -> None:
        self.was_closed = _main.depth > 0 and is_main() and not _main.is_open
        if self.was_closed:
            _main.is_open = True
            # One may have come before.
            _main.deliver(None)

    def __exit__(self, *_: object) -> None:
        if self.was_closed:
            _main.is_open = False
