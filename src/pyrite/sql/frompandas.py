"""The rows of a pandas table as Python's values."""

from __future__ import annotations

import datetime
from typing import Any


def rows_of_pandas(data: Any) -> list[tuple[Any, ...]]:
    """A tuple per row: moments and spans as datetime has them, None where pandas has nothing.

    Numbers that are none stay NaN in columns of floating-point numbers.
    """
    columns = [
        [_plain(value, data.iloc[:, at].dtype) for value in data.iloc[:, at].tolist()]
        for at in range(len(data.columns))
    ]
    return list(zip(*columns, strict=True)) if columns else [()] * len(data)


def _plain(value: Any, kind: Any) -> Any:
    import pandas

    if value is pandas.NaT or value is pandas.NA:
        return None
    if isinstance(value, float) and value != value and kind.kind != "f":
        return None
    if isinstance(value, pandas.Timestamp):
        moment: datetime.datetime = value.to_pydatetime(warn=False)
        return moment
    if isinstance(value, pandas.Timedelta):
        return value.to_pytimedelta()
    return value
