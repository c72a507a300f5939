"""Waits for processes that were asked to end."""

from __future__ import annotations

import signal
import subprocess


def wait_or_kill(process: subprocess.Popen[bytes], timeout_s: float) -> None:
    """Waits for a process that was asked to end; kills it after the timeout."""
    # A stopped process could not end.
    process.send_signal(signal.SIGCONT)
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
