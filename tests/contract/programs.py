"""Programs: drivers in processes of their own, for tests that end them."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil


def start_program(source: str, **options: Any) -> subprocess.Popen[str]:
    """Starts a driver; it sees the modules that this process sees, and its output can be read."""
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    return subprocess.Popen(
        [sys.executable, "-c", source],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def run_program(source: str) -> subprocess.CompletedProcess[str]:
    """Runs a driver to its end."""
    with start_program(source) as process:
        out, err = process.communicate(timeout=100)
    return subprocess.CompletedProcess(source, process.returncode, out, err)


def descendants(pid: int) -> list[psutil.Process]:
    """All processes that a process started, directly or not."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that still run."""
    return [each for each in processes if is_alive(each)]


def is_alive(process: psutil.Process) -> bool:
    # It may end between the two questions.
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False
