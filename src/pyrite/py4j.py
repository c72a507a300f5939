"""The errors of PySpark's bridge to the JVM: there is no bridge, but programs catch its errors."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["Py4JError", "Py4JJavaError", "Py4JNetworkError"]


class Py4JError(Exception):
    """What PySpark raises for all that goes wrong beyond Python."""


class Py4JNetworkError(Py4JError):
    """What PySpark raises where it can't reach its JVM; Pyrite never does."""


class Py4JJavaError(Py4JError):
    """What PySpark raises for a failed task, and for all that its JVM refuses.

    >>> hasattr(Py4JJavaError("no such file"), "java_exception")
    False
    """

    @property
    def errmsg(self) -> str:
        """The whole message."""
        return str(self)

    @property
    def java_exception(self) -> Any:
        """Missing: the error was raised in Python."""
        _refuse_java_exception()


def _refuse_java_exception() -> NoReturn:
    raise AttributeError(
        "there is no java_exception, since Pyrite has no JVM: str(error) tells what happened, and "
        "error.original is what a task's function raised"
    )
