"""The ends of processes that were told to end."""

from __future__ import annotations

import signal
import subprocess


def wait_or_kill(process: subprocess.Popen[bytes], timeout_s: float) -> None:
    """Waits for the end of a process that was told to, and ends it where it does not."""
    # One that is stopped could not do as it was told.
    process.send_signal(signal.SIGCONT)
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
