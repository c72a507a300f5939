"""Rows as lines of JSON."""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import math
from typing import Any

from pyrite.sql.row import Row
from pyrite.sql.shown import float_text


def line_of(row: Row) -> str:
    """A row as an object; fields that are None are left out, as Spark does it."""
    return json.dumps(_value(row), ensure_ascii=False, separators=(",", ":"))


def _value(value: Any) -> Any:
    match value:
        case Row():
            pairs = zip(value.__fields__, value, strict=True)
            return {name: _value(held) for name, held in pairs if held is not None}
        case list():
            return [_value(each) for each in value]
        case dict():
            return {str(key): _value(held) for key, held in value.items()}
        case float() if not math.isfinite(value):
            return float_text(value)
        case decimal.Decimal():
            return float(value)
        case bytes():
            return base64.b64encode(value).decode()
        case datetime.datetime():
            return value.astimezone().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        case datetime.date():
            return value.isoformat()
        case _:
            return value
