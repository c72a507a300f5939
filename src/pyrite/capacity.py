"""What this machine, or the container of this process, has to offer."""

import os
from typing import NamedTuple


class Machine(NamedTuple):
    """What the defaults are computed from: a node's memory and the executors that share it."""

    memory_bytes: int
    executors: int

    @classmethod
    def here(cls, executors: int | None = None) -> "Machine":
        """This machine, or the share of it that its container allows."""
        return cls(_memory_here_bytes(), executors or usable_cores())


def usable_cores() -> int:
    """The cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory_here_bytes() -> int:
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    # A container's limit: cgroup version 2, then 1; where there is none the file says "max".
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path) as file:
                limits.append(int(file.read()))
        except (OSError, ValueError):
            continue
    return min(limits)
