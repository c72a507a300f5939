"""How messages, records and replies become bytes, and what bytes may become."""

from __future__ import annotations

import io
import pickle
from typing import Any

from pyrite.ring import ballot, messages, names, record, views

_KNOWN = {
    (kind.__module__, kind.__qualname__): kind
    for module in (ballot, messages, names, record, views)
    for kind in vars(module).values()
    if isinstance(kind, type) and kind.__module__ == module.__name__
}


class BadWords(ValueError):
    """The bytes are not what this module writes."""


class _PlainUnpickler(pickle.Unpickler):
    """Makes nothing but what a ring speaks of, whoever sent it."""

    def find_class(self, module: str, name: str) -> Any:
        try:
            return _KNOWN[module, name]
        except KeyError:
            raise BadWords(f"{module}.{name} has no place in a ring's messages") from None


def pack(value: Any) -> bytes:
    """The bytes of a value."""
    return pickle.dumps(value, protocol=5)


def unpack(data: Any) -> Any:
    """The value of bytes; raises BadWords."""
    try:
        return _PlainUnpickler(io.BytesIO(data)).load()
    except BadWords:
        raise
    except Exception as error:
        raise BadWords(str(error)) from None
