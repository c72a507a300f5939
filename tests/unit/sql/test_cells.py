"""Values and tables as show() prints them."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from pyrite.sql.shown import cell_text, float_text, table_text
from pyrite.sql.types import DataType, StructType


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("double", 1e7, "1.0E7"),
        ("double", 9999999.0, "9999999.0"),
        ("double", 0.001, "0.001"),
        ("double", 0.0001, "1.0E-4"),
        ("double", -0.0, "-0.0"),
        ("double", 123456789.125, "1.23456789125E8"),
        ("double", float("-inf"), "-Infinity"),
        ("float", 0.10000000149011612, "0.1"),
        ("decimal(10,2)", Decimal("1E+3"), "1000"),
        ("binary", b"\x0aB", "[0A 42]"),
        ("timestamp", datetime(2000, 1, 1, 1, 2, 3, 250000), "2000-01-01 01:02:03.25"),
        ("timestamp", datetime(2000, 1, 1), "2000-01-01 00:00:00"),
        ("interval", -timedelta(days=1, seconds=1), "INTERVAL '-1 00:00:01' DAY TO SECOND"),
        ("array<int>", [1, None], "[1, NULL]"),
        ("map<string,double>", {"k": 1.0}, "{k -> 1.0}"),
        ("struct<a:int,b:boolean>", (1, True), "{1, true}"),
    ],
)
def test_a_cell(kind: str, value: Any, text: str) -> None:
    assert cell_text(value, DataType.fromDDL(kind)) == text


def test_the_largest_and_smallest_numbers() -> None:
    assert float_text(1.7976931348623157e308) == "1.7976931348623157E308"
    assert float_text(5e-324) == "5.0E-324"


def test_wide_characters_take_two_columns() -> None:
    schema = StructType().add("c", "string")
    assert table_text(schema, [("日本",), ("a",)], False, 20).splitlines()[3:5] == [
        "|日本|",
        "|   a|",
    ]


def test_one_row_more() -> None:
    schema = StructType().add("c", "int")
    assert table_text(schema, [(1,)], True, 20).endswith("only showing top 1 row")
