"""From an exception of a replayed task to the record, the operator and the call behind it."""

from __future__ import annotations

import reprlib
import traceback
from collections.abc import Iterator
from types import FrameType, GeneratorType, TracebackType
from typing import Any, NamedTuple

from pyrite.execute.traces import HIDDEN, user_traceback
from pyrite.rdd.stops import stop_behind
from pyrite.replay import replayer, watched
from pyrite.replay.recording import Operator
from pyrite.replay.watched import NOTHING, RecordWatch

LONGEST = 2000

# The functions whose frames have a watch, by their code.
WATCHING = {
    each.__code__
    for each in (
        watched.run_watched,
        watched.run_operator,
        watched.run_merge,
        watched.WatchedRouter.deal,
        watched.SortKey.__call__,
        replayer.perform,
    )
}
# Those of operators that may take several records before they do something with one.
TAKING = {watched.run_operator.__code__, watched.run_merge.__code__}
LAST = "the last one that it took"
CALLED = watched.Called.__call__.__code__
COMPARED = watched.ComparedKey.__lt__.__code__


class Culprit(NamedTuple):
    """What was in hand when an exception rose, and whose it was.

    `how` says what the record is to the operator, where it is not simply the one that it took.
    """

    operator: Operator
    partition: int
    record: Any
    how: str = ""

    def lines(self) -> list[str]:
        """The record, the operator, its RDD and its call site."""
        operator = self.operator
        rdd = f", RDD {operator.label}" if "method" in operator.told else ""
        site = f", called at {operator.site}" if operator.site else ""
        how = f" ({self.how})" if self.how else ""
        return [
            f"record    {shown(self.record)}{how}",
            f"operator  {operator.title}{rdd}{site}",
            f"task      stage {operator.stage}, partition {self.partition}",
        ]


def find_culprit(error: BaseException) -> Culprit | None:
    """The innermost operator that the exception passed through, and the record in its hand."""
    found: Culprit | None = None
    # A StopIteration has left the frames of its own traceback.
    for frame in frames(raised(error).__traceback__):
        found = culprit_in(frame) or in_table(frame, found) or found
    return found


def raised(error: BaseException) -> BaseException:
    """The exception of the user's: Python makes another one of a StopIteration."""
    return stop_behind(error) or error


def culprit_in(frame: FrameType) -> Culprit | None:
    """The culprit, where the frame is one that watches an operator."""
    code, local = frame.f_code, frame.f_locals
    if code in WATCHING:
        watch = local["self"].watch if "self" in local else local["watch"]
        if watch is None:
            return None
        how = LAST if code in TAKING and watch.record is not NOTHING else watch.what
        return Culprit(*about(watch), watch.record, how)
    if code is CALLED:
        watch, arguments = local["self"].watch, local["arguments"]
        key = key_above(frame)
        if key is not NOTHING:
            return Culprit(*about(watch), (key, arguments[-1]), combined(arguments))
        if len(arguments) == 1 and is_noted(arguments[0]):
            return Culprit(*about(watch), watch.record, LAST if watch.record is not NOTHING else "")
        record = arguments[0] if len(arguments) == 1 else arguments
        return Culprit(*about(watch), record, "" if len(arguments) == 1 else "the arguments")
    if code is COMPARED:
        one, other = local["self"], local["other"]
        how = f"compared with {shown(other.row)}"
        return Culprit(*about(one.watch), one.row, how)
    return None


def is_noted(argument: Any) -> bool:
    """Whether a function was called with the rows of its partition."""
    return isinstance(argument, GeneratorType) and argument.gi_code is watched.noted.__code__


def about(watch: RecordWatch) -> tuple[Operator, int]:
    return watch.operator, watch.partition


def combined(arguments: tuple[Any, ...]) -> str:
    """What a value was to be combined with."""
    return f"combined with {shown(arguments[0])}" if len(arguments) > 1 else ""


def key_above(frame: FrameType) -> Any:
    """The key whose values a function of the user's combines, as the engine's loop has it."""
    above = frame.f_back
    return above.f_locals["key"] if above is not None and is_table_loop(above) else NOTHING


def is_table_loop(frame: FrameType) -> bool:
    """Whether it is one of the engine's loops that add pairs to a table by key."""
    local = frame.f_locals
    has_table = any(each in local for each in ("combined", "groups", "table"))
    return has_table and "key" in local and frame.f_code.co_filename.startswith(HIDDEN)


def in_table(frame: FrameType, found: Culprit | None) -> Culprit | None:
    """The row that one of the engine's loops over pairs was adding to a table."""
    if found is None or not is_table_loop(frame):
        return None
    local = frame.f_locals
    values = [local[name] for name in ("value", "combiner") if name in local]
    return found._replace(record=(local["key"], values[0]), how="") if values else None


def frames(trace: TracebackType | None) -> Iterator[FrameType]:
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


def from_operator(error: BaseException) -> TracebackType | None:
    """The traceback from the frame that runs the operator on, without the engine's before it."""
    found = trace = raised(error).__traceback__
    while trace is not None:
        if culprit_in(trace.tb_frame) is not None:
            found = trace
        trace = trace.tb_next
    return found


def traceback_text(error: BaseException, culprit: Culprit | None) -> str:
    """The traceback with the user's frames. If none is the user's, the exception alone where its
    record is known, else all frames: then the engine may be to blame."""
    error = raised(error)
    if mine := user_traceback(error):
        return mine
    show = traceback.format_exception if culprit is None else traceback.format_exception_only
    return "".join(show(error))


def shown(value: Any) -> str:
    """A value as text, cut where it is long."""
    try:
        text = repr(value)
    except Exception as error:
        return f"a {type(value).__name__} whose repr raises {type(error).__name__}"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text)} characters)"


def short(value: Any) -> str:
    """A value as text that fits in a line."""
    return reprlib.repr(value) if len(text := shown(value)) > 200 else text
