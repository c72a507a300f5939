"""Schemas of rows that come without one, and rows that are held against one."""

from decimal import Decimal
from typing import Any

import pytest

from pyrite.errors import PySparkTypeError, PySparkValueError
from pyrite.sql.infer import schema_of_list
from pyrite.sql.types import DataType, StructType
from pyrite.sql.values import converter
from pyrite.sql.verify import verifier


def schema(text: str) -> StructType:
    found = DataType.fromDDL(text)
    assert isinstance(found, StructType)
    return found


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([(1, "a")], "_1 bigint, _2 string"),
        ([(None,), (1.5,)], "_1 double"),
        ([(1,), ("a",)], "_1 string"),
        ([{"b": 1, "a": True}], "a boolean, b bigint"),
        ([{"a": 1}, {"b": 2}], "a bigint, b bigint"),
        ([([None, 1],)], "_1 array<bigint>"),
        ([({"k": [1.0]},)], "_1 map<string,array<double>>"),
        ([(Decimal("1.5"),)], "_1 decimal(38,18)"),
    ],
)
def test_a_schema_that_all_rows_have(rows: list[Any], expected: str) -> None:
    assert schema_of_list(rows, None) == schema(expected)


def test_fewer_names_than_columns() -> None:
    assert schema_of_list([(1, 2)], ["a"]).names == ["a", "_2"]


@pytest.mark.parametrize(
    ("rows", "condition"),
    [
        ([], "CANNOT_INFER_EMPTY_SCHEMA"),
        ([(None,)], "CANNOT_DETERMINE_TYPE"),
        ([([],)], "CANNOT_DETERMINE_TYPE"),
        ([(1,), (1.5,)], "CANNOT_MERGE_TYPE"),
        ([(1j,)], "CANNOT_INFER_TYPE_FOR_FIELD"),
        ([1], "CANNOT_INFER_SCHEMA_FOR_TYPE"),
    ],
)
def test_a_schema_that_can_not_be_inferred(rows: list[Any], condition: str) -> None:
    with pytest.raises((PySparkTypeError, PySparkValueError)) as caught:
        schema_of_list(rows, None)
    assert caught.value.getCondition() == condition


@pytest.mark.parametrize(
    ("text", "row", "said"),
    [
        ("a int", ("x",), "field a is of type IntegerType"),
        ("a struct<b:int>", ((1.5,),), "field b in field a is of type IntegerType"),
        ("a array<int>", ([1, None, "x"],), "element in array field a is of type"),
        ("a int not null", (None,), "field a is None, which the schema does not allow"),
        ("a tinyint", (128,), "128 is beyond the 8 bits"),
        ("a int, b int", (1,), "a row has 1 values for 2 fields"),
        ("a int", 5, "is of type StructType"),
    ],
)
def test_a_row_that_does_not_fit(text: str, row: Any, said: str) -> None:
    with pytest.raises((PySparkTypeError, PySparkValueError), match=said):
        verifier(schema(text))(row)


@pytest.mark.parametrize(
    ("text", "value", "held"),
    [
        ("tinyint", 200, -56),
        ("bigint", 1 << 70, None),
        ("int", 1.5, None),
        ("double", 1, None),
        ("string", True, "true"),
        ("string", 7, "7"),
        ("decimal(4,1)", Decimal("1.25"), Decimal("1.3")),
        ("decimal(2,1)", Decimal("12"), None),
        ("binary", "ab", b"ab"),
        ("map<string,int>", {"a": 1}, [("a", 1)]),
    ],
)
def test_values_that_are_not_verified_are_converted_or_none(
    text: str, value: Any, held: Any
) -> None:
    assert converter(DataType.fromDDL(text))(value) == held
