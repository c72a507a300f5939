"""Keys of records that are a piece of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from pyrite.machine.bytecode import NotTraced
from pyrite.machine.captures import Captures
from pyrite.machine.emit import Code
from pyrite.machine.trace import Tracer
from pyrite.machine.values import Known, RecordPiece

LONGEST = (1 << 63) - 1


class KeySpan(NamedTuple):
    """From which byte of a record its key goes to which; a shorter record has less of it."""

    first: int
    last: int


def span_of(key: Callable[[Any], Any] | None) -> KeySpan | None:
    """The piece of a record that the function returns, whatever the record; None where it returns
    something else, or could."""
    if key is None:
        return KeySpan(0, LONGEST)
    code = Code(1)
    # No row is given back: nobody can have changed what the function captured.
    tracer = Tracer(code, True, Captures())
    try:
        value = tracer.call(Known(key), [RecordPiece(0, LONGEST)])
    except (NotTraced, ArithmeticError, AssertionError, LookupError, TypeError, ValueError):
        return None
    # What was computed depends on more than on where the key lies.
    return (
        KeySpan(value.first, value.last) if type(value) is RecordPiece and not code.lines else None
    )
