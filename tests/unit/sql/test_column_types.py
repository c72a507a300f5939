"""Types of columns and the texts that name them."""

import pickle

import pytest

from pyrite.errors import ParseException
from pyrite.sql import types as t
from pyrite.sql.ddl import parse_type
from pyrite.sql.tree import tree_of

NESTED = "a int, b array<map<string,decimal(5,2)>> not null, `c d` struct<x:bigint, y:varchar(3)>"


def test_a_text_becomes_a_schema_and_back() -> None:
    schema = t.StructType.fromDDL(NESTED)
    spelled = "struct<a:int,b:array<map<string,decimal(5,2)>>,c d:struct<x:bigint,y:varchar(3)>>"
    assert schema.simpleString() == spelled
    assert isinstance(schema, t.StructType)
    assert [field.nullable for field in schema] == [True, False, True]


@pytest.mark.parametrize("text", ["a foo", "a int,, b int", "array<int", "a int )", "a", ""])
def test_texts_that_name_no_type(text: str) -> None:
    if text == "":
        assert parse_type(text) == t.StructType()
        return
    with pytest.raises(ParseException, match="is no schema"):
        parse_type(text)


def test_a_name_with_quotes_is_no_type() -> None:
    assert parse_type("`int` string") == t.StructType([t.StructField("int", t.StringType())])


def test_schemas_grow_and_are_read_by_name_and_place() -> None:
    schema = t.StructType().add("a", "int").add(t.StructField("b", t.StringType(), False))
    assert schema.fieldNames() == ["a", "b"]
    assert schema["b"] is schema[1]
    assert schema[:1] == t.StructType([schema[0]])
    assert ("a" in schema, len(schema)) == (True, 2)
    with pytest.raises(KeyError, match="'c'; there are a, b"):
        schema["c"]


def test_types_are_compared_hashed_and_pickled_by_what_they_say() -> None:
    schema = t.StructType.fromDDL(NESTED)
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert len({t.IntegerType(), t.IntegerType(), t.DecimalType(5, 2), t.DecimalType(5, 1)}) == 3
    assert t.ArrayType(t.IntegerType()) != t.ArrayType(t.IntegerType(), False)


def test_a_tree_ends_at_a_level() -> None:
    schema = t.StructType().add("a", "struct<b:array<int>>")
    assert tree_of(schema).count("\n") == 4
    assert tree_of(schema, 1) == "root\n |-- a: struct (nullable = true)\n"
