"""StopIteration raised by a user's function, which would silently end the rows."""

from __future__ import annotations

from types import TracebackType

ADVICE = "a function must not raise it, since it would end the rows: use next(rows, default)"


class StopIsError:
    """Turns a StopIteration of a function that is called in the driver into an error."""

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if isinstance(error, StopIteration):
            raise RuntimeError(f"StopIteration: {error}; {ADVICE}") from error


def cause_of_stop(error: BaseException) -> BaseException:
    """The StopIteration behind the error that Python makes of it in a generator."""
    if isinstance(error, RuntimeError) and str(error) == "generator raised StopIteration":
        return error.__cause__ or error
    return error
