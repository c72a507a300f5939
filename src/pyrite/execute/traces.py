"""A task's exception as the user should read it: their own frames, none of the engine's."""

from __future__ import annotations

import os
import re
import traceback

from pyrite.rdd.fuse import FILENAME

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HIDDEN = (PACKAGE + os.sep, FILENAME)
# Endless recursion has a hundred thousand frames, all alike.
MOST_FRAMES = 1000
BAD_PAIR = re.compile("unpack|subscriptable|index out of range")


def user_traceback(error: BaseException) -> str:
    """The traceback of an exception and its causes, without the engine's frames."""
    trace = traceback.TracebackException.from_exception(error, limit=-MOST_FRAMES)
    link: traceback.TracebackException | None = trace
    seen: set[int] = set()
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        link.stack = traceback.StackSummary.from_list(
            [frame for frame in link.stack if not frame.filename.startswith(HIDDEN)]
        )
        link = link.__cause__ or link.__context__
    return "".join(trace.format())


def hint(error: BaseException) -> str:
    """What the user should know where the engine itself stumbled over a row, or made it so."""
    if isinstance(error, ValueError) and "read-only" in str(error):
        return (
            "; large arrays of broadcasts and of rows that are kept encoded are read in place: "
            "change a copy"
        )
    frames = traceback.extract_tb(error.__traceback__, limit=-1)
    if not frames or not frames[-1].filename.startswith(HIDDEN):
        return ""
    if isinstance(error, TypeError | ValueError | IndexError) and BAD_PAIR.search(str(error)):
        return "; operators on keys need rows that are (key, value) pairs"
    return ""


def summary(error: BaseException) -> str:
    """The exception in one line, as the last line of its traceback."""
    return "".join(traceback.format_exception_only(error)).strip()
