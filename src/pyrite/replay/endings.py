"""What would end the process of a replayed task raises instead, with the record in hand."""

from __future__ import annotations

import faulthandler
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

# The descriptor of the process; sys.stderr may be anything.
ERRORS = 2


class ProcessEnded(BaseException):
    """A function of a task ended its process here; no `except Exception` takes it."""


@contextmanager
def endings_raised() -> Iterator[None]:
    """Within it, `os._exit`, `os.abort` and signals of this process to itself raise; a crash in C
    names its line.

    Forks of it end as they do elsewhere.
    """
    here = os.getpid()
    leave, abort, kill = os._exit, os.abort, os.kill

    def raise_or_leave(status: int) -> NoReturn:
        if os.getpid() == here:
            raise ProcessEnded(f"os._exit({status})")
        leave(status)

    def raise_or_abort() -> NoReturn:
        if os.getpid() == here:
            raise ProcessEnded("os.abort()")
        abort()

    def raise_or_kill(pid: int, number: int, /) -> None:
        if pid == here == os.getpid() and number:
            raise ProcessEnded(f"killed by {signal.Signals(number).name}")
        kill(pid, number)

    ours: Any = {"_exit": raise_or_leave, "abort": raise_or_abort, "kill": raise_or_kill}
    vars(os).update(ours)
    was_enabled = faulthandler.is_enabled()
    if not was_enabled:
        faulthandler.enable(ERRORS)
    try:
        yield
    finally:
        if not was_enabled:
            faulthandler.disable()
        vars(os).update(_exit=leave, abort=abort, kill=kill)
