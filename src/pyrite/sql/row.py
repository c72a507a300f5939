"""Rows with named fields."""

from __future__ import annotations

from typing import Any, NoReturn

from pyrite.pysparkerrors import (
    PySparkAttributeError,
    PySparkRuntimeError,
    PySparkTypeError,
    PySparkValueError,
)


class Row(tuple[Any, ...]):
    """A tuple whose values have names; or, made of names alone, a class of such rows.

    >>> row = Row(name="Ada", born=1815)
    >>> row.name, row["born"], row[0], "name" in row
    ('Ada', 1815, 'Ada', True)
    >>> Point = Row("x", "y")
    >>> Point(1, 2)
    Row(x=1, y=2)
    """

    __fields__: list[Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> Row:
        if args and kwargs:
            raise PySparkValueError(
                "a Row takes names alone, as in Row('a', 'b'), or names with values, "
                "as in Row(a=1, b=2), not both",
                "CANNOT_SET_TOGETHER",
            )
        if kwargs:
            return named_row(list(kwargs), kwargs.values(), cls)
        return super().__new__(cls, args)

    def __call__(self, *args: Any) -> Row:
        """A row with these values, this row's values being its names."""
        if len(args) > len(self):
            message = f"{self!r} has {len(self)} fields; got {len(args)} values"
            raise PySparkValueError(message, "TOO_MANY_VALUES")
        return named_row(list(self), args)

    def asDict(self, recursive: bool = False) -> dict[Any, Any]:
        """The values by name; with ``recursive``, also of rows inside.

        >>> Row(a=1, b=Row(c=2)).asDict(recursive=True)
        {'a': 1, 'b': {'c': 2}}
        """
        if not hasattr(self, "__fields__"):
            message = f"{self!r} has no values: call it with some to get a row"
            raise PySparkTypeError(message, "CANNOT_CONVERT_TYPE")
        values = map(_plain, self) if recursive else self
        return dict(zip(self.__fields__, values, strict=False))

    def __contains__(self, item: object) -> bool:
        return item in self.__dict__.get("__fields__", tuple(self))

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, int | slice):
            return super().__getitem__(item)
        try:
            return super().__getitem__(self.__fields__.index(item))
        except (ValueError, IndexError):
            raise PySparkValueError(f"{self!r} has no field {item!r}") from None

    def __getattr__(self, name: str) -> Any:
        fields = () if name.startswith("__") else self.__fields__
        if name in fields and fields.index(name) < len(self):
            return super().__getitem__(fields.index(name))
        message = f"{type(self).__name__} has no field {name!r}"
        raise PySparkAttributeError(message, "ATTRIBUTE_NOT_SUPPORTED")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        message = f"a Row is read-only: make a new one to change {name!r}"
        raise PySparkRuntimeError(message, "READ_ONLY")

    def __reduce__(self) -> Any:
        if "__fields__" in self.__dict__:
            return named_row, (self.__fields__, tuple(self))
        return Row, tuple(self)

    def __repr__(self) -> str:
        if "__fields__" not in self.__dict__:
            return f"<Row({', '.join(map(repr, self))})>"
        pairs = zip(self.__fields__, self, strict=False)
        return f"Row({', '.join(f'{name}={value!r}' for name, value in pairs)})"


def named_row(fields: list[Any], values: Any, kind: type[Row] = Row) -> Row:
    """A row of these values; there may be fewer of them than fields."""
    row = tuple.__new__(kind, values)
    row.__dict__["__fields__"] = fields
    return row


def _plain(value: Any) -> Any:
    match value:
        case Row() if "__fields__" in value.__dict__:
            return value.asDict(recursive=True)
        case list():
            return [_plain(each) for each in value]
        case dict():
            return {key: _plain(each) for key, each in value.items()}
        case _:
            return value
