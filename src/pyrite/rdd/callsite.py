"""Where the user's program called into Pyrite."""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class CallSite(NamedTuple):
    """The method by which the user called into Pyrite, and from where."""

    method: str
    path: str
    line: int
    function: str

    @property
    def short(self) -> str:
        """The file's name and the line, as names of stages have it."""
        return f"{os.path.basename(self.path)}:{self.line}"

    @property
    def whole(self) -> str:
        """The file's path, the line and the function."""
        where = "" if self.function == "<module>" else f", in {self.function}"
        return f"{self.path}:{self.line}{where}"


def call_site() -> CallSite:
    """Where the user's program called into Pyrite."""
    frame = sys._getframe(1)
    method = frame.f_code.co_name
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        method = frame.f_code.co_name
        frame = frame.f_back
    code = frame.f_code
    return CallSite(method, code.co_filename, frame.f_lineno, code.co_name)
