"""Arguments of the wrong type, refused at the call by the name of the method that was called."""

from __future__ import annotations

from typing import Any

from pyrite.rdd.callsite import call_site


def require_functions(*functions: Any) -> None:
    """Refuses what can't be called."""
    for each in functions:
        if not callable(each):
            raise TypeError(f"{call_site()[0]} needs a function, not {described(each)}")


def require_int(name: str, value: Any) -> None:
    """Refuses a number that is not whole."""
    if not hasattr(value, "__index__"):
        raise TypeError(f"{call_site()[0]}: {name} must be an int, not {described(value)}")


def require_text(name: str, value: Any) -> None:
    """Refuses what is no text."""
    if not isinstance(value, str):
        raise TypeError(f"{call_site()[0]}: {name} must be a str, not {described(value)}")


def described(value: Any) -> str:
    """A value and its type in a few words."""
    text = repr(value)
    if value is None or len(text) > 40:
        text = "None" if value is None else f"{text[:37]}..."
    return text if value is None else f"{text} (a value of type {type(value).__name__})"
