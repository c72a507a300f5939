"""Where the user's program called into Pyrite."""

from __future__ import annotations

import os
import sys

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def call_site() -> tuple[str, str]:
    """The method by which the user called into Pyrite, and the file and line of the call."""
    frame = sys._getframe(1)
    method = frame.f_code.co_name
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        method = frame.f_code.co_name
        frame = frame.f_back
    return method, f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
