"""What the exit code of an executor says."""

from __future__ import annotations

import signal

# The executor had no memory left to report that its task has used it all up.
MEMORY_EXHAUSTED = 112


def describe_exit(code: int) -> str:
    """How an executor ended, in words.

    >>> describe_exit(-9), describe_exit(3)
    ('killed by SIGKILL', 'exited with code 3')
    """
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    if code == MEMORY_EXHAUSTED:
        return "out of memory: use more partitions, or raise spark.executor.memory"
    return f"exited with code {code}"
