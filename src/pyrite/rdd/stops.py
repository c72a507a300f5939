"""StopIteration raised by a user's function, which would silently end the rows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from pyrite.pysparkerrors import PySparkRuntimeError

F = TypeVar("F", bound=Callable[..., Any])

ADVICE = "a function must not raise it, since it would end the rows: use next(rows, default)"


class StopIsError:
    """Turns a StopIteration of a function that is called in the driver into an error."""

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if isinstance(error, StopIteration):
            raise stop_error(error) from error


def stop_error(stop: StopIteration | None = None) -> PySparkRuntimeError:
    """The error in place of a StopIteration, which could end somebody's loop in silence."""
    said = f": {stop}" if stop is not None and str(stop) else ""
    return PySparkRuntimeError(f"StopIteration{said}; {ADVICE}", "STOP_ITERATION_OCCURRED", {})


def stop_behind(error: BaseException) -> StopIteration | None:
    """The StopIteration that an error is, or that Python made it of in a generator."""
    if isinstance(error, RuntimeError) and str(error) == "generator raised StopIteration":
        error = error.__cause__ or error
    return error if isinstance(error, StopIteration) else None


def fail_on_stopiteration(f: F) -> F:
    """Turns a StopIteration that the function raises into an error that nobody swallows."""

    @functools.wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return f(*args, **kwargs)
        except StopIteration as error:
            raise stop_error(error) from error

    return wrapper  # type: ignore[return-value]
