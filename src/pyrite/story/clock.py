"""The engine's clock of a program that still runs."""

from __future__ import annotations

import socket
import time

from pyrite.story.model import RunModel


def clock_s(run: RunModel) -> float:
    """What the clock of a running program on this host reads now; else its last record's time."""
    header = run.header
    # A simulated run has no time of day, and no host.
    if header is None or run.ended_s is not None or header.host != socket.gethostname():
        return run.last_s
    return max(run.last_s, time.time() - header.wall_s + header.clock_s)
