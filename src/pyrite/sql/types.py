"""The types of columns, as PySpark names them: what a schema is made of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, ClassVar

from pyrite.sql.row import Row

__all__ = [
    "ArrayType",
    "BinaryType",
    "BooleanType",
    "ByteType",
    "CharType",
    "DataType",
    "DateType",
    "DayTimeIntervalType",
    "DecimalType",
    "DoubleType",
    "FloatType",
    "IntegerType",
    "LongType",
    "MapType",
    "NullType",
    "Row",
    "ShortType",
    "StringType",
    "StructField",
    "StructType",
    "TimestampNTZType",
    "TimestampType",
    "VarcharType",
]


class DataType:
    """The type of the values of a column.

    >>> IntegerType() == IntegerType(), IntegerType().simpleString()
    (True, 'int')
    """

    # How SQL spells it where that is not the name of the class.
    _spelling: ClassVar[str] = ""

    @classmethod
    def typeName(cls) -> str:
        """The name as printSchema shows it."""
        return cls.__name__.removesuffix("Type").lower()

    def simpleString(self) -> str:
        """The type as SQL spells it."""
        return self._spelling or self.typeName()

    def jsonValue(self) -> Any:
        """The type as `json` writes it, before it becomes text."""
        return self.typeName()

    def json(self) -> str:
        """The type as text that other Spark programs read."""
        return json.dumps(self.jsonValue(), separators=(",", ":"), sort_keys=True)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    @classmethod
    def fromDDL(cls, ddl: str) -> DataType:
        """The type that a text such as ``a int, b array<string>`` describes."""
        from pyrite.sql.ddl import parse_type

        return parse_type(ddl)


class NullType(DataType):
    """Of columns that hold nothing but None."""

    @classmethod
    def typeName(cls) -> str:
        return "void"


class AtomicType(DataType):
    """Values without parts."""


class NumericType(AtomicType):
    """Numbers."""


class IntegralType(NumericType):
    """Whole numbers of so many bits."""

    bits: ClassVar[int]


class FractionalType(NumericType):
    """Numbers that need not be whole."""


class BooleanType(AtomicType):
    """True and False."""


class StringType(AtomicType):
    """Text."""


class BinaryType(AtomicType):
    """Bytes."""


class DateType(AtomicType):
    """Days."""


class TimestampType(AtomicType):
    """Moments, in local time."""


class TimestampNTZType(AtomicType):
    """Dates and times of day without a time zone."""

    @classmethod
    def typeName(cls) -> str:
        return "timestamp_ntz"


class ByteType(IntegralType):
    """Whole numbers of 8 bits."""

    bits = 8
    _spelling = "tinyint"


class ShortType(IntegralType):
    """Whole numbers of 16 bits."""

    bits = 16
    _spelling = "smallint"


class IntegerType(IntegralType):
    """Whole numbers of 32 bits."""

    bits = 32
    _spelling = "int"


class LongType(IntegralType):
    """Whole numbers of 64 bits."""

    bits = 64
    _spelling = "bigint"


class FloatType(FractionalType):
    """Floating-point numbers of 32 bits."""


class DoubleType(FractionalType):
    """Floating-point numbers of 64 bits."""


class DecimalType(FractionalType):
    """Decimal numbers of so many digits, `scale` of them behind the point."""

    def __init__(self, precision: int = 10, scale: int = 0) -> None:
        self.precision = precision
        self.scale = scale
        self.hasPrecisionInfo = True

    def simpleString(self) -> str:
        return f"decimal({self.precision},{self.scale})"

    def jsonValue(self) -> Any:
        return self.simpleString()

    def __repr__(self) -> str:
        return f"DecimalType({self.precision},{self.scale})"


class SizedText(AtomicType):
    """Text of a length that the schema names."""

    def __init__(self, length: int) -> None:
        self.length = length

    def simpleString(self) -> str:
        return f"{self.typeName()}({self.length})"

    def jsonValue(self) -> Any:
        return self.simpleString()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.length})"


class CharType(SizedText):
    """Text of just this length."""


class VarcharType(SizedText):
    """Text of at most this length."""


class DayTimeIntervalType(AtomicType):
    """Spans of time, as timedelta has them."""

    DAY, HOUR, MINUTE, SECOND = range(4)

    def __init__(self, startField: int | None = None, endField: int | None = None) -> None:
        self.startField = self.DAY if startField is None else startField
        self.endField = self.SECOND if endField is None else endField

    def simpleString(self) -> str:
        names = ["day", "hour", "minute", "second"]
        first, last = names[self.startField], names[self.endField]
        return f"interval {first}" if first == last else f"interval {first} to {last}"

    typeName = simpleString

    def __repr__(self) -> str:
        return f"DayTimeIntervalType({self.startField}, {self.endField})"


class ArrayType(DataType):
    """Lists whose elements have one type."""

    def __init__(self, elementType: DataType, containsNull: bool = True) -> None:
        self.elementType = elementType
        self.containsNull = containsNull

    def simpleString(self) -> str:
        return f"array<{self.elementType.simpleString()}>"

    def jsonValue(self) -> Any:
        return {
            "type": "array",
            "elementType": self.elementType.jsonValue(),
            "containsNull": self.containsNull,
        }

    def __repr__(self) -> str:
        return f"ArrayType({self.elementType}, {self.containsNull})"


class MapType(DataType):
    """Dictionaries whose keys have one type and whose values have one."""

    def __init__(
        self, keyType: DataType, valueType: DataType, valueContainsNull: bool = True
    ) -> None:
        self.keyType = keyType
        self.valueType = valueType
        self.valueContainsNull = valueContainsNull

    def simpleString(self) -> str:
        return f"map<{self.keyType.simpleString()},{self.valueType.simpleString()}>"

    def jsonValue(self) -> Any:
        return {
            "type": "map",
            "keyType": self.keyType.jsonValue(),
            "valueType": self.valueType.jsonValue(),
            "valueContainsNull": self.valueContainsNull,
        }

    def __repr__(self) -> str:
        return f"MapType({self.keyType}, {self.valueType}, {self.valueContainsNull})"


class StructField(DataType):
    """A column of a schema: its name, its type, and whether it may be None."""

    def __init__(
        self,
        name: str,
        dataType: DataType,
        nullable: bool = True,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.dataType = dataType
        self.nullable = nullable
        self.metadata = metadata or {}

    def simpleString(self) -> str:
        return f"{self.name}:{self.dataType.simpleString()}"

    def jsonValue(self) -> Any:
        return {
            "name": self.name,
            "type": self.dataType.jsonValue(),
            "nullable": self.nullable,
            "metadata": self.metadata,
        }

    def __repr__(self) -> str:
        return f"StructField('{self.name}', {self.dataType}, {self.nullable})"


class StructType(DataType):
    """Rows: a list of fields, which `add` makes longer.

    >>> schema = StructType().add("name", StringType()).add("born", "int")
    >>> schema.simpleString(), schema.names, schema["born"].dataType
    ('struct<name:string,born:int>', ['name', 'born'], IntegerType())
    """

    def __init__(self, fields: list[StructField] | None = None) -> None:
        self.fields = list(fields or [])
        self.names = [field.name for field in self.fields]

    def add(
        self,
        field: str | StructField,
        data_type: str | DataType | None = None,
        nullable: bool = True,
        metadata: dict[str, Any] | None = None,
    ) -> StructType:
        """Adds a field at the end, and gives the schema itself back."""
        if not isinstance(field, StructField):
            if data_type is None:
                raise TypeError(f"add({field!r}) needs the type of the field too")
            known = DataType.fromDDL(data_type) if isinstance(data_type, str) else data_type
            field = StructField(field, known, nullable, metadata)
        self.fields.append(field)
        self.names.append(field.name)
        return self

    def fieldNames(self) -> list[str]:
        """The names of the fields."""
        return list(self.names)

    def renamed(self, names: list[str]) -> StructType:
        """The same fields under other names; those that are left over keep theirs."""
        kept = [*names, *self.names[len(names) :]]
        return StructType(
            [
                StructField(name, field.dataType, field.nullable, field.metadata)
                for name, field in zip(kept, self.fields, strict=True)
            ]
        )

    def simpleString(self) -> str:
        return f"struct<{','.join(field.simpleString() for field in self.fields)}>"

    def jsonValue(self) -> Any:
        return {"type": "struct", "fields": [field.jsonValue() for field in self.fields]}

    def treeString(self, maxDepth: int | None = None) -> str:
        """The schema as printSchema shows it."""
        from pyrite.sql.tree import tree_of

        return tree_of(self, maxDepth)

    def __iter__(self) -> Iterator[StructField]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self.names:
                raise KeyError(f"no field is named {key!r}; there are {', '.join(self.names)}")
            return self.fields[self.names.index(key)]
        return StructType(self.fields[key]) if isinstance(key, slice) else self.fields[key]

    def __repr__(self) -> str:
        return f"StructType([{', '.join(map(repr, self.fields))}])"


def __getattr__(name: str) -> Any:
    from pyrite.sql import missing

    if name in missing.TYPES:
        missing.refuse_import(__name__, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
