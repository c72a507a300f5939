"""Where DuckDB's functions and numbers are not Spark's, and what makes them so."""

from __future__ import annotations

import re
from typing import Any

from sqlglot import exp

from pyrite.sql.callnames import ADDED, CALLED, call_of
from pyrite.sql.column import Column, number
from pyrite.sql.missing import refuse
from pyrite.sql.names import NAME, argument_names, function_word, name_of
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
        found[2] = with_backslashes(found[2])
    return found


def with_backslashes(replacement: str) -> str:
    """The groups of a pattern as DuckDB writes them: `$1` in Spark is `\\1` there."""
    return re.sub(r"\$(\d)", r"\\\1", replacement)


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
    # Those inside of others first: an outer one is copied with them.
    for node in reversed(list(parsed.find_all(exp.Func))):
        word = function_word(node)
        if word in DIFFERENT:
            refuse(f"{word} in SQL")
        if node.parent is None or isinstance(node, exp.Cast):
            continue
        known = word in ADDED or word in CALLED
        name = call_of(word, argument_names(node)) if known else name_of(node)
        written = node.copy()
        read_as_sparks(node, word)
        # Read from text, these leave None out by themselves.
        changed = _or_empty(node.copy()) if word in COLLECTED else given(word, numbered(node, word))
        if known or changed != written:
            changed.meta[NAME] = name
            node.replace(changed)
    for node in reversed(list(parsed.find_all(exp.Between, exp.IntDiv))):
        texts = [name_of(each) for each in node.iter_expressions()]
        if isinstance(node, exp.Between):
            node.meta[NAME] = f"between({', '.join(texts)})"
        elif node.parent is not None:
            whole = exp.cast(exp.paren(node.copy()), "bigint", dialect="spark")
            whole.meta.update({EXACT: True, NAME: name_of(node)})
            node.replace(whole)
    return parsed


def numbered(node: Any, word: str) -> Any:
    """A copy of a function; Spark's days of the week count from 1, and DuckDB's from 0."""
    copied = node.copy()
    if word != "dayofweek":
        return copied
    return exp.Paren(this=exp.Add(this=copied, expression=exp.Literal.number(1)))


def read_as_sparks(node: Any, word: str) -> None:
    """Changes the arguments of a function in the text of a query, as `taken` does elsewhere."""
    if word == "substring" and node.args.get("start") == exp.Literal.number(0):
        node.set("start", exp.Literal.number(1))
    elif word == "regexp_replace" and isinstance(node.args.get("replacement"), exp.Literal):
        text = node.args["replacement"].this
        node.set("replacement", exp.Literal.string(with_backslashes(text)))
    elif word in MOMENTS:
        node.set("this", exp.cast(node.this.copy(), "timestamp_ntz", dialect="spark"))


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
