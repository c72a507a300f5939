"""Hides Pyrite's frames in the traceback of a Ctrl-C."""

from __future__ import annotations

import os
import sys
from itertools import pairwise
from types import TracebackType
from typing import Any

import pyrite

PACKAGE = os.path.dirname(os.path.abspath(pyrite.__file__)) + os.sep


def hide_our_frames() -> None:
    """Has Python, or IPython, leave out Pyrite's frames when it shows a Ctrl-C."""
    if not isinstance(sys.excepthook, ExceptHook):
        sys.excepthook = ExceptHook(sys.excepthook)
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is not None:
        hide_in_ipython(shell)


def hide_in_ipython(shell: Any) -> None:
    """The same for an IPython shell, unless its user has set a handler."""
    if not getattr(shell, "custom_exceptions", True):
        shell.set_custom_exc((KeyboardInterrupt,), show_in_ipython)


class ExceptHook:
    """Calls the previous hook, with Pyrite's frames removed from interrupts."""

    def __init__(self, shown_by: Any) -> None:
        self.shown_by = shown_by

    def __call__(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        self.shown_by(kind, error, users_part(error, trace))


def show_in_ipython(
    shell: Any,
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType | None,
    tb_offset: int | None = None,
) -> None:
    shell.showtraceback((kind, error, users_part(error, trace)), tb_offset=tb_offset)


def users_part(error: BaseException, trace: TracebackType | None) -> TracebackType | None:
    """The traceback of an interrupt without Pyrite's frames; other tracebacks unchanged."""
    if not isinstance(error, KeyboardInterrupt):
        return trace
    # A second Ctrl-C during the handling of the first adds nothing.
    if isinstance(error.__context__, KeyboardInterrupt):
        error.__suppress_context__ = True
    links = []
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(PACKAGE):
            links.append(trace)
        trace = trace.tb_next
    for one, other in pairwise([*links, None]):
        if one is not None:
            one.tb_next = other
    error.__traceback__ = links[0] if links else None
    return error.__traceback__
