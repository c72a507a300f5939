"""A task's exception as the user should read it: their own frames, none of the engine's."""

from __future__ import annotations

import os
import traceback

from pyrite.rdd.fuse import FILENAME

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HIDDEN = (PACKAGE + os.sep, FILENAME)


def user_traceback(error: BaseException) -> str:
    """The traceback of an exception and its causes, without the engine's frames."""
    trace = traceback.TracebackException.from_exception(error)
    link: traceback.TracebackException | None = trace
    seen: set[int] = set()
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        link.stack = traceback.StackSummary.from_list(
            [frame for frame in link.stack if not frame.filename.startswith(HIDDEN)]
        )
        link = link.__cause__ or link.__context__
    return "".join(trace.format())


def summary(error: BaseException) -> str:
    """The exception in one line, as the last line of its traceback."""
    return "".join(traceback.format_exception_only(error)).strip()
