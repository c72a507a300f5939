"""The names of columns that nobody named: ``(age + 1)``, ``avg(score)``, as Spark writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from sqlglot import exp

# Where functions keep the name that they give their column.
NAME = "spark_name"
PLAIN = re.compile(r"[\w.*]+")
UNQUOTED = re.compile(r"[a-z_]\w*")

OPERATORS: dict[type[exp.Expression], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.EQ: "=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.And: "AND",
    exp.Or: "OR",
    exp.NullSafeEQ: "<=>",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
    exp.IntDiv: "div",
}
# What needs no frame counts rows.
BY_ROWS = ("row_number(", "rank(", "dense_rank(", "percent_rank(", "cume_dist(", "ntile(")
# Where sqlglot has another name for a function of Spark's.
FUNCTIONS = {
    "stddev_samp": "stddev",
    "approx_distinct": "approx_count_distinct",
    "regexp_like": "RLIKE",
    "power": "POWER",
}


def identifier(name: str) -> Any:
    """A name as queries hold it: in lower case, in quotes only where SQL needs them."""
    lower = name.lower()
    return exp.to_identifier(lower, quoted=UNQUOTED.fullmatch(lower) is None)


def display(names: Iterable[str]) -> dict[str, str]:
    """Names as the user wrote them, by those that queries hold, with quotes and without."""
    spelled = {f"`{name.lower()}`": name for name in names}
    return spelled | {key.strip("`"): name for key, name in spelled.items()}


def column_name(expression: Any) -> str:
    """The name of a column that is selected; a cast column keeps its own."""
    cast = isinstance(expression, exp.Cast) and NAME not in expression.meta
    if cast and isinstance(expression.this, exp.Column):
        return name_of(expression.this)
    if isinstance(expression, exp.Explode | exp.Unnest):
        return "col"
    return name_of(expression)


def name_of(node: Any) -> str:
    """An expression as Spark writes it inside of a name."""
    if NAME in node.meta:
        return str(node.meta[NAME])
    operator = OPERATORS.get(type(node))
    if operator is not None:
        return f"({name_of(node.this)} {operator} {name_of(node.expression)})"
    match node:
        case exp.Alias():
            return f"{name_of(node.this)} AS {shown_name(node)}"
        case exp.Column():
            return shown_name(node)
        case exp.Literal():
            return str(node.this)
        case exp.Boolean():
            return str(node.this).lower()
        case exp.Null():
            return "NULL"
        case exp.Paren():
            return name_of(node.this)
        case exp.Ordered():
            return _ordered(node)
        case exp.Window():
            return _window(node)
        case exp.Case():
            return _case(node)
        case exp.Cast():
            return f"CAST({name_of(node.this)} AS {node.to.sql('spark').replace(', ', ',')})"
        case exp.Bracket():
            return f"{name_of(node.this)}[{', '.join(map(name_of, node.expressions))}]"
        case exp.Dot():
            return f"{name_of(node.this)}.{node.expression.name}"
        case exp.Distinct():
            return f"DISTINCT {', '.join(map(name_of, node.expressions))}"
        case exp.Star():
            return "1" if isinstance(node.parent, exp.Count) else "*"
        case exp.If():
            return f"(IF({', '.join(argument_names(node))}))"
        case exp.Func():
            return _function(node)
    return _predicate(node)


def shown_name(node: Any) -> str:
    """The name of a column or an alias as the user wrote it."""
    return str(node.meta.get("display_name") or node.alias_or_name)


def written_name(column: Any) -> str:
    """The name of a column that is selected, as the user wrote it; none for all columns."""
    if isinstance(column, str):
        return "" if "*" in column else column
    held = column.expression
    return shown_name(held) if isinstance(held, exp.Alias | exp.Column) else ""


def _predicate(node: Any) -> str:
    match node:
        case exp.Neg() if isinstance(node.this, exp.Literal):
            return f"-{node.this.this}"
        case exp.Neg():
            return f"(- {name_of(node.this)})"
        case exp.NEQ():
            return f"(NOT ({name_of(node.this)} = {name_of(node.expression)}))"
        case exp.Not(this=exp.Is(this=tested, expression=exp.Null())):
            return f"({name_of(tested)} IS NOT NULL)"
        case exp.Not():
            return f"(NOT {name_of(node.this)})"
        case exp.Is():
            return f"({name_of(node.this)} IS {name_of(node.expression)})"
        case exp.In():
            return f"({name_of(node.this)} IN ({', '.join(map(name_of, node.expressions))}))"
        case exp.Between():
            tested = name_of(node.this)
            low, high = name_of(node.args["low"]), name_of(node.args["high"])
            return f"(({tested} >= {low}) AND ({tested} <= {high}))"
        case exp.Like():
            return f"{name_of(node.this)} LIKE {name_of(node.expression)}"
        case exp.Interval():
            return str(node.sql("spark"))
    return str(node.sql("spark")).replace("`", "")


def function_word(node: Any) -> str:
    """The name that Spark has for a function."""
    if isinstance(node, exp.Anonymous):
        return str(node.name.lower())
    written = re.match(r"(\w+)\(", node.sql("spark"))
    word: str = written[1].lower() if written else node.sql_name().lower()
    return FUNCTIONS.get(word, word)


def _function(node: Any) -> str:
    if isinstance(node, exp.Anonymous):
        return f"{function_word(node)}({', '.join(map(name_of, node.expressions))})"
    return f"{function_word(node)}({', '.join(argument_names(node))})"


def argument_names(node: Any) -> list[str]:
    """The arguments of a function as Spark writes them."""
    held = [node.args.get(key) for key in node.arg_types]
    parts = [part for each in held for part in (each if isinstance(each, list) else [each])]
    return [
        # Where sqlglot reads a date into an argument, nobody wrote to_date.
        name_of(part.this if type(part) is exp.TsOrDsToDate and not part.args.get("safe") else part)
        for part in parts
        if isinstance(part, exp.Expression)
    ]


def _case(node: Any) -> str:
    tested = [
        f"WHEN {name_of(each.this)} THEN {name_of(each.args['true'])}" for each in node.args["ifs"]
    ]
    default = node.args.get("default")
    left = [f"ELSE {name_of(default)}"] if default is not None else []
    return " ".join(["CASE", *tested, *left, "END"])


def _ordered(node: Any) -> str:
    direction = "DESC" if node.args.get("desc") else "ASC"
    nulls = "FIRST" if node.args.get("nulls_first") else "LAST"
    return f"{name_of(node.this)} {direction} NULLS {nulls}"


def _window(node: Any) -> str:
    clauses = []
    if node.args.get("partition_by"):
        clauses.append(f"PARTITION BY {', '.join(map(name_of, node.args['partition_by']))}")
    order = node.args.get("order")
    if order is not None:
        asc = [
            name_of(each) if isinstance(each, exp.Ordered) else f"{name_of(each)} ASC NULLS FIRST"
            for each in order.expressions
        ]
        clauses.append(f"ORDER BY {', '.join(asc)}")
    spec = node.args.get("spec")
    if spec is not None:
        clauses.append(str(spec.sql("spark")))
    elif order is not None and name_of(node.this).lower().startswith(BY_ROWS):
        clauses.append("ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW")
    elif order is not None:
        clauses.append("RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW")
    return f"{name_of(node.this)} OVER ({' '.join(clauses)})"
