"""Values as text that is stable, readable and keeps types apart."""

import hashlib
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from copy import deepcopy
from enum import Enum
from functools import partial
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np
from tests.pyspark.raised import Raised

# A longer answer is recorded by its beginning and its digest.
MOST_CHARACTERS = 800
BY_REPR = (bool, int, float, str, bytes, bytearray, complex, range, type(None))
# What a user's class may add something to.
BASES: dict[type | None, Callable[[Any], str]] = {int: int.__repr__, str: str.__repr__}
DICTS = (dict, Counter, defaultdict, OrderedDict)


def encode(value: Any) -> str:
    """The value as a Python literal, with sets and dicts in the order of their texts."""
    return Encoder().text(value)


def shortened(text: str) -> str:
    """The text, or its beginning and digest where it is long."""
    if len(text) <= MOST_CHARACTERS:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{text[: MOST_CHARACTERS // 2]}... {len(text)} characters, sha256 {digest}"


class Encoder:
    """Turns one value into text; it knows what it is inside of, so that a cycle has an end."""

    def __init__(self) -> None:
        self.inside: list[int] = []

    def text(self, value: Any) -> str:
        if type(value) in BY_REPR:
            return repr(value)
        if type(value) is Raised:
            return str(value)
        if id(value) in self.inside:
            return "<itself>"
        self.inside.append(id(value))
        try:
            return self.container(value)
        finally:
            self.inside.pop()

    def texts(self, values: Any) -> str:
        return ", ".join(map(self.text, values))

    def container(self, value: Any) -> str:
        kind = type(value)
        if kind is list:
            return f"[{self.texts(value)}]"
        if kind is tuple:
            return f"({self.texts(value)}{',' if len(value) == 1 else ''})"
        if kind in (set, frozenset):
            return f"{kind.__name__}({', '.join(sorted(map(self.text, value)))})"
        if kind in DICTS:
            return self.mapping(value)
        if isinstance(value, type | FunctionType | BuiltinFunctionType | ModuleType):
            return f"<{kind.__name__} {value.__name__}>"
        return self.other(value)

    def mapping(self, value: dict[Any, Any]) -> str:
        kind = type(value)
        pairs = [f"{self.text(key)}: {self.text(held)}" for key, held in value.items()]
        if kind is not OrderedDict:
            pairs.sort()
        plain = "{" + ", ".join(pairs) + "}"
        if kind is dict:
            return plain
        made = f"{self.text(value.default_factory)}, " if kind is defaultdict else ""
        return f"{kind.__name__}({made}{plain})"

    def other(self, value: Any) -> str:
        kind = type(value)
        if isinstance(value, Enum):
            return f"{kind.__name__}.{value.name}"
        if isinstance(value, np.ndarray):
            return f"array({value.dtype}, {value.shape}, {self.text(value.tolist())})"
        if isinstance(value, BaseException):
            return f"{kind.__name__}({self.texts(value.args)})"
        if isinstance(value, deque):
            return f"deque([{self.texts(value)}], {value.maxlen})"
        if isinstance(value, tuple | list) or kind.__name__ == "ResultIterable":
            return f"{kind.__name__}({self.texts(value)}){self.state(value)}"
        if isinstance(value, Iterator):
            # What is encoded once more, to be sorted, must still be there.
            return f"<{kind.__name__} of {self.texts(deepcopy(value))}>"
        if isinstance(value, memoryview):
            return f"memoryview({bytes(value)!r})"
        if isinstance(value, partial):
            return f"partial({self.texts([value.func, *value.args])})"
        if kind.__module__.startswith("tests."):
            plain = BASES.get(kind.__base__, lambda value: "")(value)
            return f"{kind.__name__}{plain}{self.state(value)}"
        return repr(value)

    def state(self, value: Any) -> str:
        """What a user's class keeps in its objects, in a dict or in slots."""
        names = [*getattr(value, "__dict__", ()), *getattr(type(value), "__slots__", ())]
        fields = [(name, getattr(value, name)) for name in sorted(names) if hasattr(value, name)]
        if type(value).__name__ == "ResultIterable" or not fields:
            return ""
        return "{" + ", ".join(f"{name}={self.text(held)}" for name, held in fields) + "}"


def arrange(value: Any, order: str) -> Any:
    """The value without the order of records that its case does not promise."""
    if not isinstance(value, list):
        return value
    if order == "sorted":
        return sorted(value, key=encode)
    if order == "layout":
        return [sorted(part, key=encode) for part in value]
    return value
