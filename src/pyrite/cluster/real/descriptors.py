"""Checks that the driver may open as many files as its executors need."""

from __future__ import annotations

import contextlib
import os
import resource

from pyrite.errors import UserError

# An executor's socket, the end that goes to the fork server, and its cancel flag.
PER_EXECUTOR = 3
# A node's locks, the sockets of its fork server and block server, a poll, and a pipe to start one.
PER_NODE = 8
# For everything else that the engine and the program open.
SPARE = 64


def check_descriptors(executors: int, nodes: int) -> None:
    """Raises the limit of open files if needed; fails if the hard limit is too low."""
    needed = open_files() + executors * PER_EXECUTOR + nodes * PER_NODE + SPARE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or needed <= soft:
        return
    if hard == resource.RLIM_INFINITY or needed <= hard:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            return
    raise UserError(
        f"{executors} executors need {needed} open files in the driver, and its limit is {hard} "
        f"(RLIMIT_NOFILE, soft {soft} and hard {hard}): raise it, as with ulimit -n {needed}, "
        "or use fewer executors"
    )


def open_files() -> int:
    """The number of this process's open files."""
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:
        return 0
