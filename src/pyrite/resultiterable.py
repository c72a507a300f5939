"""The values of one key, as `groupByKey` and `cogroup` give them."""

from typing import Any, TypeVar

T = TypeVar("T")

__all__ = ["ResultIterable"]


class ResultIterable(list[T]):
    """Values that can be iterated repeatedly and counted.

    A list underneath, so that making, iterating and counting one costs no Python call.

    >>> values = ResultIterable([3, 1, 2])
    >>> len(values), list(values), max(values)
    (3, [3, 1, 2], 3)
    """

    __slots__ = ()

    index = 0  # type: ignore[assignment]

    @property
    def data(self) -> "ResultIterable[T]":
        """The values themselves."""
        return self

    @property
    def maxindex(self) -> int:
        """How many values there are."""
        return len(self)

    def __repr__(self) -> str:
        return f"ResultIterable({list(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (ResultIterable, (list(self),))
