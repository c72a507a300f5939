"""Schemas as text: ``name string, tags array<string> not null``."""

from __future__ import annotations

import re
from collections.abc import Callable

from pyrite.errors import ParseException
from pyrite.sql import types
from pyrite.sql.types import DataType, StructField, StructType

NAMED: dict[str, Callable[[], DataType]] = {
    "void": types.NullType,
    "boolean": types.BooleanType,
    "string": types.StringType,
    "binary": types.BinaryType,
    "date": types.DateType,
    "timestamp": types.TimestampType,
    "timestamp_ltz": types.TimestampType,
    "timestamp_ntz": types.TimestampNTZType,
    "byte": types.ByteType,
    "tinyint": types.ByteType,
    "short": types.ShortType,
    "smallint": types.ShortType,
    "int": types.IntegerType,
    "integer": types.IntegerType,
    "long": types.LongType,
    "bigint": types.LongType,
    "float": types.FloatType,
    "real": types.FloatType,
    "double": types.DoubleType,
    "interval": types.DayTimeIntervalType,
}
TOKEN = re.compile(r"\s*(?:`((?:[^`]|``)*)`|([\w.]+)|([<>(),:])|('(?:[^'\\]|\\.)*'))")


def parse_type(text: str) -> DataType:
    """The type that a text names; of several fields, the row that they make.

    >>> parse_type("array<int>"), parse_type("a int, b string not null").simpleString()
    (ArrayType(IntegerType(), True), 'struct<a:int,b:string>')
    """
    words = Words(text)
    try:
        found = words.type()
        words.end()
        return found
    except ParseException:
        return parse_fields(text)


def parse_fields(text: str) -> StructType:
    """The fields that a text lists."""
    words = Words(text)
    found = words.fields(until="")
    words.end()
    return found


class Words:
    """Reads a text word by word."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._words: list[tuple[str, bool]] = []
        self._next = 0
        at, end = 0, len(text.rstrip())
        while at < end:
            found = TOKEN.match(text, at)
            if found is None:
                raise self._refusal(text[at:])
            quoted = found[1]
            plain = found[2] or found[3] or found[4]
            self._words.append((plain, False) if quoted is None else (quoted, True))
            at = found.end()

    def end(self) -> None:
        """Makes sure that nothing is left."""
        if self._next < len(self._words):
            raise self._refusal(self._words[self._next][0])

    def fields(self, until: str) -> StructType:
        """Fields with their types, up to a closing word."""
        found: list[StructField] = []
        while not self._at(until):
            name = self._take()
            self._passed(":")
            kind = self.type()
            nullable = not self._passed("not")
            if not nullable:
                self._expect("null")
            metadata = {"comment": self._take()[1:-1]} if self._passed("comment") else None
            found.append(StructField(name, kind, nullable, metadata))
            if not self._passed(","):
                break
        return StructType(found)

    def type(self) -> DataType:
        """One type with its parts."""
        word, quoted = self._words[self._next] if self._next < len(self._words) else ("", False)
        self._next += 1
        name = word.lower()
        if quoted:
            raise self._refusal(word)
        match name:
            case "array":
                (element,) = self._inside(1)
                return types.ArrayType(element)
            case "map":
                key, value = self._inside(2)
                return types.MapType(key, value)
            case "struct":
                self._expect("<")
                fields = self.fields(until=">")
                self._expect(">")
                return fields
            case "decimal" | "dec" | "numeric":
                return types.DecimalType(*self._numbers())
            case "char" | "character":
                return types.CharType(*self._numbers())
            case "varchar":
                return types.VarcharType(*self._numbers())
        if name not in NAMED:
            raise self._refusal(word, "UNSUPPORTED_DATATYPE")
        if name == "interval":
            for each in ("day", "to", "second"):
                self._passed(each)
        return NAMED[name]()

    def _inside(self, count: int) -> list[DataType]:
        self._expect("<")
        found = [self.type()]
        while len(found) < count:
            self._expect(",")
            found.append(self.type())
        self._expect(">")
        return found

    def _numbers(self) -> list[int]:
        if not self._passed("("):
            return []
        found = [int(self._take())]
        while self._passed(","):
            found.append(int(self._take()))
        self._expect(")")
        return found

    def _at(self, word: str) -> bool:
        return self._next >= len(self._words) or self._words[self._next] == (word, False)

    def _passed(self, word: str) -> bool:
        if self._next >= len(self._words) or self._words[self._next][0].lower() != word:
            return False
        self._next += 1
        return True

    def _expect(self, word: str) -> None:
        if not self._passed(word):
            raise self._refusal(word)

    def _take(self) -> str:
        if self._next >= len(self._words):
            raise self._refusal("the end")
        self._next += 1
        return self._words[self._next - 1][0]

    def _refusal(self, at: str, condition: str = "PARSE_SYNTAX_ERROR") -> ParseException:
        return ParseException(
            f"{self._text!r} is no schema, at {at!r}: write it as in 'name string, born int'",
            condition,
        )
