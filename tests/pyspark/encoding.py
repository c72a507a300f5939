"""Values as text that is stable, readable and keeps types apart."""

import builtins
import re
from dataclasses import dataclass
from typing import Any

ANY_ERROR = "error"
RAISED = re.compile(r"<raises at (\w+): ([\w|]+)>")


@dataclass(frozen=True)
class Raised:
    """An error as a value: the moment it was raised, and which builtin classes it belongs to."""

    moment: str
    classes: tuple[str, ...]

    @classmethod
    def from_error(cls, moment: str, error: Exception) -> "Raised":
        general = (object, BaseException, Exception)
        named = [c for c in type(error).__mro__ if c not in general]
        return cls(moment, tuple(c.__name__ for c in named if hasattr(builtins, c.__name__)))

    def __str__(self) -> str:
        return f"<raises at {self.moment}: {'|'.join(self.classes) or ANY_ERROR}>"


def encode(value: Any) -> str:
    """The value as a Python literal, with sets and dicts in the order of their texts."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str, bytes, bytearray, complex, range):
        return repr(value)
    if kind is Raised:
        return str(value)
    if kind is list:
        return f"[{', '.join(map(encode, value))}]"
    if kind is tuple:
        return f"({', '.join(map(encode, value))}{',' if len(value) == 1 else ''})"
    if kind in (set, frozenset):
        return f"{kind.__name__}({', '.join(sorted(map(encode, value)))})"
    if kind is dict:
        pairs = sorted((encode(key), encode(held)) for key, held in value.items())
        return "{" + ", ".join(f"{key}: {held}" for key, held in pairs) + "}"
    raise TypeError(f"a case returned a {kind.__qualname__}; turn it into a plain value first")


def arrange(value: Any, order: str) -> Any:
    """The value without the order of records that its case does not promise."""
    if not isinstance(value, list):
        return value
    if order == "sorted":
        return sorted(value, key=encode)
    if order == "layout":
        return [sorted(part, key=encode) for part in value]
    return value


def agrees(recorded: str, found: str) -> bool:
    """Whether the texts are equal, where an error recorded from inside the JVM stands for any."""
    if RAISED.sub(r"<raises at \1>", recorded) != RAISED.sub(r"<raises at \1>", found):
        return False
    pairs = zip(RAISED.findall(recorded), RAISED.findall(found), strict=True)
    return all(
        wanted == ANY_ERROR or wanted.split("|")[0] in classes.split("|")
        for (_, wanted), (_, classes) in pairs
    )
