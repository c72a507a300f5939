"""The values of one key, as `groupByKey` and `cogroup` give them."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")

__all__ = ["ResultIterable"]


class ResultIterable(Iterable[T], Generic[T]):
    """Values that can be iterated repeatedly and counted, also where they don't fit in memory.

    >>> values = ResultIterable([3, 1, 2])
    >>> len(values), list(values), max(values)
    (3, [3, 1, 2], 3)
    """

    __slots__ = ("data", "index", "maxindex")

    def __init__(self, data: Collection[T]) -> None:
        self.data: Collection[T] = data
        self.index: int = 0
        self.maxindex: int = len(data)

    def __iter__(self) -> Iterator[T]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def __reduce__(self) -> tuple[Any, ...]:
        # Values that lie in a task's scratch file travel as a list.
        data = self.data if isinstance(self.data, list) else list(self.data)
        return (type(self), (data,))
