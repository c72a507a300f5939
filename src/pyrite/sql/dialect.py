"""Where DuckDB's functions and numbers are not Spark's, and what makes them so."""

from __future__ import annotations

import re
from typing import Any

from sqlglot import exp

from pyrite.sql.column import Column, number
from pyrite.sql.missing import refuse
from pyrite.sql.names import NAME, function_word, name_of
from pyrite.sql.types import DataType

# Functions that give other values than Spark's: these are refused.
DIFFERENT = frozenset(
    {
        "aggregate",
        "array_distinct",
        "array_max",
        "array_min",
        "array_position",
        "array_remove",
        "array_union",
        "arrays_zip",
        "dayname",
        "hash",
        "input_file_name",
        "rand",
        "randn",
        "sign",
        "signum",
        "slice",
        "typeof",
    }
)
# What DuckDB takes no text for.
MOMENTS = frozenset({"hour", "minute", "second"})
# Where DuckDB counts in larger numbers than Spark, or in fractions.
RESULTS = {
    "bigint": "ceil ceiling floor",
    "int": "ascii datediff date_diff dayofmonth dayofweek dayofyear hour instr length levenshtein "
    "locate minute month quarter second size weekofyear year",
}
RESULT_OF = {name: kind for kind, names in RESULTS.items() for name in names.split()}
# Marks casts of whole numbers.
EXACT = "exact"
COLLECTED = frozenset({"collect_list", "collect_set"})
WHOLE = (
    exp.DataType.Type.TINYINT,
    exp.DataType.Type.SMALLINT,
    exp.DataType.Type.INT,
    exp.DataType.Type.BIGINT,
)


def taken(name: str, args: tuple[Any, ...]) -> list[Any]:
    """The arguments of a function as SQLFrame's takes them."""
    found = [each.simpleString() if isinstance(each, DataType) else each for each in args]
    if name in MOMENTS:
        found[0] = Column.ensure_col(found[0]).cast("timestamp_ntz")
    elif name in ("lit", "when"):
        found = [number(each) for each in found]
    elif name == "substring" and found[1] == 0:
        found[1] = 1
    elif name == "regexp_replace" and isinstance(found[2], str):
        found[2] = re.sub(r"\$(\d)", r"\\\1", found[2])
    return found


def given(name: str, made: Any) -> Any:
    """What a function makes, as Spark's makes it."""
    if name in COLLECTED:
        # Spark collects no None, and from nothing an empty list.
        held = made.this.expressions[0] if isinstance(made.this, exp.Distinct) else made.this
        there = exp.Where(this=exp.Not(this=exp.Is(this=held.copy(), expression=exp.Null())))
        return _or_empty(exp.Filter(this=made, expression=there))
    if name == "months_between":
        return exp.Round(this=made, decimals=exp.Literal.number(8))
    if name in RESULT_OF:
        counted = exp.cast(made, RESULT_OF[name], dialect="spark")
        counted.meta[EXACT] = True
        return counted
    return made


def _or_empty(collected: Any) -> Any:
    return exp.Coalesce(this=collected, expressions=[exp.Array(expressions=[])])


def made_sparks(parsed: Any) -> Any:
    """An expression that was written in SQL, whose functions do as Spark's; others are refused."""
    for node in list(parsed.find_all(exp.Func)):
        word = function_word(node)
        if word in DIFFERENT:
            refuse(f"{word} in SQL")
        if word in COLLECTED and node.parent is not None:
            name = name_of(node)
            # Read from text, it leaves None out by itself.
            changed = _or_empty(node.copy())
            changed.meta[NAME] = name
            node.replace(changed)
    return parsed


def truncating(node: Any) -> Any:
    """A cast of a fraction to a whole number, which cuts it off where DuckDB's rounds."""
    if not isinstance(node, exp.Cast) or not node.to.is_type(*WHOLE) or node.meta.get(EXACT):
        return node
    held = node.this.transform(truncating)
    if isinstance(held, exp.Literal):
        return node
    kind = exp.Anonymous(this="typeof", expressions=[held])
    fractions = [exp.Literal.string("DOUBLE"), exp.Literal.string("FLOAT")]
    decimals = exp.Like(this=kind.copy(), expression=exp.Literal.string("DECIMAL%"))
    fraction = exp.Or(this=exp.In(this=kind, expressions=fractions), expression=decimals)
    double = exp.TryCast(this=held.copy(), to=exp.DataType.build("double"))
    cut = exp.Cast(this=exp.Anonymous(this="trunc", expressions=[double]), to=node.to.copy())
    whole = exp.Cast(this=held.copy(), to=node.to.copy())
    return exp.Case(ifs=[exp.If(this=fraction, true=cut)], default=whole)
