"""Tables as show() prints them, to the letter."""

from __future__ import annotations

import datetime
import decimal
import math
import struct
import unicodedata
from typing import Any

from pyrite.sql.types import ArrayType, DataType, FloatType, MapType, StructType

NARROWEST = 3
# Java writes numbers beyond these with an exponent.
LEAST_PLAIN, MOST_PLAIN = 1e-3, 1e7
ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f", "\b": "\\b", "\u000b": "\\v"}
ESCAPED = str.maketrans(ESCAPES | {"\a": "\\a"})


def table_text(
    schema: StructType, rows: list[Any], more: bool, width: int, vertical: bool = False
) -> str:
    """The rows as a table; cells have at most `width` characters, or any number with 0."""
    head = [field.name.translate(ESCAPED) for field in schema]
    cells = [
        [
            _short(cell_text(value, field.dataType).translate(ESCAPED), width)
            for value, field in zip(row, schema, strict=True)
        ]
        for row in rows
    ]
    body = _records(head, cells) if vertical else _grid(head, cells, right=width > 0)
    if not more:
        return body
    return f"{body}only showing top {len(rows)} {'row' if len(rows) == 1 else 'rows'}"


def cell_text(value: Any, kind: DataType) -> str:
    """One value as Spark casts it to text."""
    match kind:
        case _ if value is None:
            return "NULL"
        case ArrayType():
            return f"[{', '.join(cell_text(each, kind.elementType) for each in value)}]"
        case MapType():
            pairs = (
                f"{cell_text(key, kind.keyType)} -> {cell_text(held, kind.valueType)}"
                for key, held in value.items()
            )
            return f"{{{', '.join(pairs)}}}"
        case StructType():
            parts = zip(value, kind, strict=True)
            return f"{{{', '.join(cell_text(each, field.dataType) for each, field in parts)}}}"
        case FloatType():
            return float_text(value, single=True)
        case _:
            return plain_text(value)


def plain_text(value: Any) -> str:
    """A value without parts as text."""
    match value:
        case bool():
            return str(value).lower()
        case float():
            return float_text(value)
        case decimal.Decimal():
            return format(value, "f")
        case bytes():
            return f"[{value.hex(' ').upper()}]"
        case datetime.datetime():
            text = value.isoformat(sep=" ")
            return text.rstrip("0") if value.microsecond else text
        case datetime.timedelta():
            return span_text(value)
        case _:
            return str(value)


def float_text(value: float, single: bool = False) -> str:
    """A floating-point number as Java writes it.

    >>> float_text(1e7), float_text(0.001), float_text(-2.5), float_text(math.inf)
    ('1.0E7', '0.001', '-2.5', 'Infinity')
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    shortest = _single_digits(value) if single else repr(value)
    sign, digits, exponent = decimal.Decimal(shortest).as_tuple()
    assert isinstance(exponent, int)
    minus = "-" if sign else ""
    if value == 0 or LEAST_PLAIN <= abs(value) < MOST_PLAIN:
        text = format(decimal.Decimal(shortest).copy_abs(), "f")
        return minus + (text if "." in text else text + ".0")
    figures = "".join(map(str, digits)).rstrip("0")
    power = exponent + len(digits) - 1
    return f"{minus}{figures[0]}.{figures[1:] or '0'}E{power}"


def span_text(span: datetime.timedelta) -> str:
    """A span of time as SQL writes it."""
    minus = "-" if span < datetime.timedelta(0) else ""
    span = abs(span)
    minutes, seconds = divmod(span.seconds, 60)
    fraction = f".{span.microseconds:06}".rstrip("0") if span.microseconds else ""
    clock = f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}{fraction}"
    return f"INTERVAL '{minus}{span.days} {clock}' DAY TO SECOND"


def _single_digits(value: float) -> str:
    wanted = struct.pack("f", value)
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        if struct.pack("f", float(text)) == wanted:
            break
    return text


def _short(text: str, width: int) -> str:
    if width <= 0 or len(text) <= width:
        return text
    return text[:width] if width < 4 else text[: width - 3] + "..."


def _columns_taken(text: str) -> int:
    """How wide a terminal shows it: wide characters take two columns."""
    return len(text) + sum(unicodedata.east_asian_width(each) in "WF" for each in text)


def _padded(text: str, width: int, right: bool) -> str:
    gap = " " * (width - _columns_taken(text))
    return gap + text if right else text + gap


def _grid(head: list[str], cells: list[list[str]], right: bool) -> str:
    columns = zip(*([head, *cells]), strict=True)
    widths = [max(NARROWEST, *map(_columns_taken, column)) for column in columns]
    line = "+" + "".join("-" * width + "+" for width in widths)
    shown = [
        "|"
        + "".join(
            _padded(cell, width, right) + "|" for cell, width in zip(row, widths, strict=True)
        )
        for row in [head, *cells]
    ]
    return "\n".join([line, shown[0], line, *shown[1:], line]) + "\n"


def _records(head: list[str], cells: list[list[str]]) -> str:
    names = max(map(_columns_taken, head), default=0)
    names = max(NARROWEST, names)
    held = max([NARROWEST, *(_columns_taken(cell) for row in cells for cell in row)])
    lines: list[str] = []
    for number, row in enumerate(cells):
        # As wide as the lines below it.
        lines.append(f"-RECORD {number}".ljust(names + held + 5, "-"))
        for name, cell in zip(head, row, strict=True):
            lines.append(f" {_padded(name, names, False)} | {_padded(cell, held, False)} ")
    return "".join(f"{line}\n" for line in lines) if cells else "(0 rows)\n"
