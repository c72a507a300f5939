"""The name by which every process finds a class, a function or a module."""

import sys
from types import FunctionType, MethodType, ModuleType
from typing import Any


def class_name(kind: type) -> str:
    """The full name of a class."""
    return f"{kind.__module__}.{kind.__qualname__}"


def global_name(value: Any) -> str | None:
    """The name of something that pickles by name; None where each process gets a copy of its own.

    >>> global_name(len), global_name(str.upper), global_name(lambda: 0)
    ('len', 'builtins.str.upper', None)
    """
    if isinstance(value, type):
        # Not its qualified name, which a class that travels by value loses on the way.
        return f"{value.__module__}.{value.__name__}"
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, FunctionType):
        return _function_name(value)
    owner = value.__self__ if isinstance(value, MethodType) else None
    return _method_name(owner, value.__name__) if owner is not None else _reduced_name(value)


def _function_name(function: FunctionType) -> str | None:
    # An executor's __main__ is not the user's: his functions travel there by value.
    found: Any = None if function.__module__ == "__main__" else sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    return f"{function.__module__}.{function.__qualname__}" if found is function else None


def _reduced_name(value: Any) -> str | None:
    """What an object itself says about how it is pickled, if that is by name."""
    try:
        reduced = value.__reduce_ex__(4)
    except Exception:
        return None
    if isinstance(reduced, str):
        return reduced
    if reduced[0] is getattr:
        return _method_name(*reduced[1])
    return None


def _method_name(owner: Any, name: str) -> str | None:
    # A method of a class is one in every process; of an instance each copy has its own.
    return f"{class_name(owner)}.{name}" if isinstance(owner, type) else None
