"""A file into which an executor writes its stacks: at a signal, and when it crashes.

The interpreter's own handler writes it, in C: also while a task is inside a library's loop, and
nothing has to be attached to the process.
"""

from __future__ import annotations

import faulthandler
import os
import signal

from pyrite.ids import ExecutorId

# Programs seldom use it, and its default would end the process: it is only sent to those who have
# the file.
STACK_SIGNAL = signal.SIGRTMIN + 9 if hasattr(signal, "SIGRTMIN") else signal.SIGUSR2
PREFIX = "stacks-"
MOST_LINES = 40
MOST_BYTES = 16 << 10


def stack_path(folder: str, executor: ExecutorId) -> str:
    return os.path.join(folder, f"{PREFIX}{executor}")


def write_stacks(folder: str, executor: ExecutorId) -> None:
    """Has this process write its stacks, from now on; the file stays open."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    fd = os.open(stack_path(folder, executor), flags, 0o600)
    faulthandler.register(STACK_SIGNAL, file=fd, all_threads=True, chain=False)
    faulthandler.enable(file=fd, all_threads=True)


def take_last_lines(folder: str, executor: ExecutorId) -> tuple[str, ...]:
    """The end of what an executor wrote before it ended; removes the file."""
    path = stack_path(folder, executor)
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - MOST_BYTES))
            text = file.read().decode(errors="replace")
        os.unlink(path)
    except OSError:
        # Its folder may have been removed with its node.
        return ()
    # What was asked for by the signal is no word of its death.
    _, found, crash = text.rpartition("Fatal Python error")
    return tuple((found + crash).splitlines()[:MOST_LINES]) if found else ()
