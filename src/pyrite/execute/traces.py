"""Formats a task's exception for the user: with the user's frames, without the engine's."""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import traceback
from collections.abc import Iterator
from itertools import dropwhile

from pyrite import pysparkerrors
from pyrite.execute.unquoted import unquoted_frame
from pyrite.rdd.fuse import FILENAME

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HIDDEN = (PACKAGE + os.sep, FILENAME)
# Endless recursion has a hundred thousand equal frames.
MOST_FRAMES = 1000
BAD_PAIR = re.compile("unpack|subscriptable|index out of range")


def is_ours(path: str, function: str) -> bool:
    """Whether a frame is the engine's, or that of the interpreter that runs it."""
    root = path == "<string>" and function == "<module>"
    return root or path.startswith((*HIDDEN, "<frozen "))


def user_traceback(error: BaseException) -> str:
    """The traceback of an exception, its causes and its sub-exceptions, without the engine's
    frames; empty if no frame is the user's."""
    trace = traceback.TracebackException.from_exception(error, limit=-MOST_FRAMES)
    parts = list(linked(trace))
    for part in parts:
        part.stack = traceback.StackSummary.from_list(
            [frame for frame in part.stack if not frame.filename.startswith(HIDDEN)]
        )
    return "".join(trace.format()) if any(part.stack for part in parts) else ""


def user_places(error: BaseException) -> str:
    """The same traceback without values: the types of the exceptions, and the lines of code without
    literals."""
    trace = traceback.TracebackException.from_exception(error, limit=-MOST_FRAMES)
    parts = list(linked(trace))
    for part in parts:
        part.stack = traceback.StackSummary.from_list(
            [unquoted_frame(each) for each in part.stack if not each.filename.startswith(HIDDEN)]
        )
        hide_values(part)
    return "".join(trace.format()) if any(part.stack for part in parts) else ""


def hide_values(part: traceback.TracebackException) -> None:
    """Leaves the type of an exception; its text, its notes and a wrong line may have values."""
    name = type_name(part.exc_type)
    part.exc_type = None  # type: ignore[assignment]
    part.__notes__ = None
    part.format_exception_only = lambda *_, **__: iter([f"{name}\n"])  # type: ignore[method-assign, assignment]


def type_name(kind: type[BaseException] | None) -> str:
    """The name of an exception's class, as tracebacks show it."""
    if kind is None:
        return "an exception"
    if kind.__module__ in ("builtins", "__main__", pysparkerrors.__name__):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def linked(trace: traceback.TracebackException) -> Iterator[traceback.TracebackException]:
    """A trace and all linked ones: causes, contexts, the exceptions of a group."""
    pending: list[traceback.TracebackException | None] = [trace]
    seen: set[int] = set()
    while pending:
        part = pending.pop()
        if part is not None and id(part) not in seen:
            seen.add(id(part))
            yield part
            pending += [
                part.__cause__,
                part.__context__,
                *(getattr(part, "exceptions", None) or ()),
            ]


def hint(error: BaseException) -> str:
    """Advice for errors in which the engine has a part."""
    if isinstance(error, TypeError | ValueError) and "read-only" in str(error):
        return (
            "; large arrays of a broadcast or of an OFF_HEAP partition are shared with other "
            "tasks: change a copy, such as array.copy()"
        )
    frames = traceback.extract_tb(error.__traceback__, limit=-1)
    if not frames or not frames[-1].filename.startswith(HIDDEN):
        return ""
    if isinstance(error, TypeError | ValueError | IndexError) and BAD_PAIR.search(str(error)):
        return "; operators on keys need rows that are (key, value) pairs"
    return ""


def summary(error: BaseException) -> str:
    """The exception as the last line of its traceback, with its notes."""
    lines = traceback.format_exception_only(error)
    if isinstance(error, SyntaxError):
        # Drops the place in the source, which the traceback shows.
        lines = list(dropwhile(lambda line: line.startswith("  "), lines))
    # Programs know these by the name alone, from pyspark.errors.
    return "".join(lines).strip().removeprefix(f"{pysparkerrors.__name__}.")


def pickle_error(error: BaseException) -> bytes:
    """Pickles the exception for the driver; empty if it can't be pickled."""
    with contextlib.suppress(Exception):
        return pickle.dumps(error)
    with contextlib.suppress(Exception):
        import cloudpickle

        # Pickles the classes of the user's __main__ by value.
        pickled: bytes = cloudpickle.dumps(error)
        return pickled
    return b""
