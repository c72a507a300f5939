"""Progress as lines, for a program whose output is shown on a terminal elsewhere."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import Any

# Set by who shows the output of the program on a terminal.
ENVIRONMENT = "PYRITE_PROGRESS"
WANTED = "lines"
# With what such a line begins: who shows the output tells it from what the program prints.
MARK = "[pyrite] "
# How long a stage runs before its first line, and how long before each further one.
FIRST_S = 2.0
LINE_S = 5.0


def are_wanted() -> bool:
    return os.environ.get(ENVIRONMENT) == WANTED


class ProgressLine:
    """Stands for the bar of one stage, and prints a line now and then."""

    def __init__(self, total: int, desc: str, **_: Any) -> None:
        self.total = total
        self.desc = desc
        self.n = 0
        self.running = ""
        self.next_s = time.monotonic() + FIRST_S

    def set_postfix_str(self, text: str, refresh: bool = False) -> None:
        self.running = text

    def refresh(self) -> None:
        now_s = time.monotonic()
        if now_s >= self.next_s:
            self.next_s = now_s + LINE_S
            # The program may have closed its streams, or have one of its own that fails.
            with contextlib.suppress(Exception):
                line = f"{MARK}{self.desc}: {self.n}/{self.total} tasks, {self.running}\n"
                sys.stderr.write(line)
                sys.stderr.flush()

    def close(self) -> None:
        """Leaves what was printed."""
