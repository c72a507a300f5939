"""Random functions on numbers and text, as source; typed, so that the machine understands most."""

from __future__ import annotations

import math
import warnings
from operator import add, mul
from random import Random
from typing import Any

GLOBAL = 7
WEIGHTS = [0.5, -2, 3.25]
SCOPE: dict[str, Any] = {
    "GLOBAL": GLOBAL,
    "WEIGHTS": WEIGHTS,
    "NAME": "na\N{SNOWMAN}e",
    "FEW": {"a", "é", "12"},
    "math": math,
    "exp": math.exp,
    "sqrt": math.sqrt,
    "log": math.log,
    "add": add,
    "mul": mul,
}

INTS = ["0", "1", "-1", "2", "3", "7", "-12", "255", "GLOBAL", "captured", "True"]
FLOATS = ["0.0", "-0.0", "1.5", "-2.25", "1e9", "0.1", "WEIGHTS[0]", "float('inf')"]
TEXTS = ["''", "' '", "'a'", "'ab'", "'é'", "','", "'x y'", "'A1'", "'  7 '", "NAME", "'-12'"]
TEXTS += ["'1_0'", "'\\u0663'", "' 12\\u2003'", "'nan'", "'\\u0130'", "'\\x1f'"]
# What reads a variable later than it is written.
LAZY = [
    "sum(map(lambda x: x + {0}, (1, 2)), ({0} := 3)) + {0}",
    "sum((x + {0} for x in (1, 2)), 3) + {0}",
    "(lambda x: x + {0})(({0} := 4))",
    "sum([x + {0} for x in ({0}, 2)], ({0} := 5))",
]


def named(a: Any, b: Any = 2, *, c: Any = 3) -> Any:
    """A function whose arguments can be named."""
    return a * 2 - b + c


SCOPE["named"] = named
COMPARED = ["<", "<=", "==", "!=", ">", ">="]

# Templates by kind; {i}, {f} and {b} stand for operands of their kind, ⟨ and ⟩ for braces.
TEMPLATES = {
    "i": [
        "({i} + {i})",
        "({i} - {i})",
        "({i} * {i})",
        "({i} // {i})",
        "({i} % {i})",
        "({i} & {i})",
        "({i} | {i})",
        "({i} ^ {i})",
        "({i} << ({i} & 7))",
        "({i} >> ({i} & 7))",
        "(-{i})",
        "(~({i} + 0))",
        "abs({i})",
        "({i} if {b} else {i})",
        "({i} ** 2)",
        "({i} ** 3)",
        "int({f})",
        "int({b})",
        "min({i}, {i}, {i})",
        "max({i}, {i})",
        "sum(({i}, {b}, {i}))",
        "({i} and {i})",
        "({i} or {i})",
        "len(({i}, {f}))",
        "({i}, {f}, {i})[2]",
        "({b} + {i})",
        "sum([{i} * n for n in range(3)])",
        "max([{i}, {i}])",
        "len({s})",
        "len({s}.split())",
        "len({s}.split({s}))",
        "int({s})",
        "int(str({i}))",
        "{s}.find({s})",
        "{s}.count({s})",
        "sum(len(w) for w in {s}.split())",
        "sum([len(w) for w in {s}.split({s}) if w > {s}])",
        "len([w for w in {s}.split() if {s} in w])",
        "max([len(w) + 1 for w in {s}.split()])",
        "min(map(len, {s}.split(',')))",
        "({i} // -4)",
        "({i} % -4)",
        "({i} % ({b} - 2))",
        "({b} * {i} - {b})",
        "({b} << {b})",
        "({b} ** 2)",
        "({i} and {i} or {i})",
        "({i}, {i}, {i})[::-1][0]",
        "sum(({i}, {i}, {i})[-2:])",
        "sum([a * b for a in ({i}, 2) for b in (1, {i})])",
        "sum([sum([{i}, a]) for a in ({i}, 3)])",
        "sum([len(w) for w in {s}.split() for n in (1,)])",
        "sum([sum([len(v) for v in w.split(',')]) for w in {s}.split()])",
        "sum(len(w) for w in [v.strip(',') for v in {s}.split()])",
        "sum(map(lambda n: n + {i}, ({i}, 2)))",
        "(lambda n, m: n - m)({i}, {i})",
        "len({s}[-100:2])",
        "int({s}.strip('a '))",
        "min([len(w) for w in {s}.split()[1:]])",
        "len(set({s}.split()))",
        "sum([int(w) for w in set({s}.split(','))])",
        "len(sorted({s}.split({s}))[1:])",
        "sorted([len(w) for w in {s}.split()])[{i}]",
        "sorted([{i} + len(w) for w in {s}.split()], reverse={b})[0]",
        "sorted(({i}, {i}, {i}))[-1]",
        "len(set(({i}, {i}, 3)))",
        "len(⟨{i}, {i}⟩)",
        "sum(set([len(w) for w in {s}.split()]), start={i})",
        "list(set([len(w) * {i} for w in {s}.split()]))[-1]",
        "named({i}, c={i})",
        "named(b={i}, a={i})",
        "(lambda a, b: a - b)(b={i}, a={i})",
        "max(list(map(len, {s}.split())))",
        "len(list(w for w in {s}.split() if w > {s}))",
        "min(⟨len(w) for w in {s}.split()⟩)",
        "sum([a * 7 + b for a, b in sorted([(len(w), {i}) for w in {s}.split()])[1:]])",
        "sum([n // 3 for n in sorted(⟨len(w) * {i} for w in {s}.split(',')⟩)[-3:-1]])",
        "len({s}.split()[-2:])",
    ],
    "f": [
        "({f} + {f})",
        "({f} - {i})",
        "({i} * {f})",
        "({f} * {f})",
        "({f} / {f})",
        "({i} / {i})",
        "(-{f})",
        "abs({f})",
        "({f} ** 2)",
        "({f} ** 0.5)",
        "({f} ** 3)",
        "({f} if {b} else {f})",
        "float({i})",
        "float({b})",
        "min({f}, {f})",
        "max({f}, {f}, {f})",
        "exp({f})",
        "math.sqrt({f})",
        "log({f})",
        "math.sqrt({i})",
        "sum([{f}, {f}, {f}])",
        "sum(({f}, {i}, {f}))",
        "sum(map(mul, WEIGHTS, ({f}, {f}, {f})))",
        "sum(a * b for a, b in zip(WEIGHTS, ({f}, {f}, {f})))",
        "({f} or {f})",
        "({f}, {i})[0]",
        "add({f}, {i})",
        "[{f}, {f}][-1]",
        "sum(w * {f} for n, w in enumerate(WEIGHTS))",
        "float({s})",
        "sum(float(w) for w in {s}.split())",
        "sum(map(float, {s}.split(',')), 0.5)",
        "float(str({i}))",
        "(math.sqrt({s}) if {b} else {f})",
        "math.fabs({f})",
        "({f} if {b} else math.fabs({s}))",
        "sum([float(w) for w in {s}.split()], {i})",
        "sum(({f}, {f}), {i})",
        "sum([{f} for w in {s}.split()], 5)",
        "({f} ** -1)",
        "({f} ** ({i} % 5 - 2))",
        "({i} ** 0.5)",
        "({i} ** -1.5)",
        "({f} ** 1.0)",
        "({b} * {f})",
        "({b} / {i})",
        "({f} and {f} or {f})",
        "max([float(w) for w in {s}.split()])",
        "sum([float(w) * {f} for w in {s}.split() if w != {s}])",
        "(lambda a: a * a)({f})",
        "min([{f}, {f}][::-1])",
        "sorted([float(w) for w in {s}.split()])[0]",
        "sorted(({f}, {f}, {f}), reverse={b})[1]",
        "sum(sorted([{f}, {f}]))",
        "sorted([(len(w), {f} * len(w)) for w in {s}.split()])[0][1]",
        "sum((x for x in ({f}, {f})), start=0.5)",
        "sorted([({b}, float(w)) for w in {s}.split()], reverse=True)[-1][1]",
    ],
    "b": [
        "({i} {c} {i})",
        "({f} {c} {f})",
        "({i} {c} {f})",
        "({f} {c} {i})",
        "({i} {c} {i} {c} {i})",
        "(not {b})",
        "(not {i})",
        "(not {f})",
        "({b} and {b})",
        "({b} or {b})",
        "({b} & {b})",
        "({b} ^ {b})",
        "bool({i})",
        "bool({f})",
        "({i} is None)",
        "({f} is not None)",
        "(not not {i})",
        "({s} {c} {s})",
        "({s} in {s})",
        "({s} not in {s})",
        "({s} in ('a', 'b', {s}))",
        "({s} in {s}.split())",
        "({i} in (1, 2, {i}))",
        "({f} in ({f}, {f}))",
        "({f} not in ({i}, {f}))",
        "{s}.startswith({s})",
        "{s}.endswith(('a', {s}))",
        "{s}.isdigit()",
        "{s}.isalpha()",
        "{s}.isalnum()",
        "{s}.isspace()",
        "(not {s})",
        "bool({s})",
        "({s} is None)",
        "isinstance({s}, str)",
        "isinstance({i}, (float, (bool, int)))",
        "isinstance({f}, ((str, float), bool))",
        "({i} < {f} < {i} != {f})",
        "({s} <= {s} < {s})",
        "({i} == {b})",
        "({f} != {f} or {f} > {f})",
        "({f} == float('nan'))",
        "({s} in FEW)",
        "{s}.isnumeric()",
        "{s}.isdecimal()",
        "bool(set({s}.split()))",
        "(not sorted({s}.split()))",
        "sorted([{b}, {b}])[0]",
    ],
    "s": [
        "({s} + {s})",
        "{s}.lower()",
        "{s}.upper()",
        "str.strip({s})",
        "{s}.strip()",
        "{s}.lstrip()",
        "{s}.rstrip()",
        "{s}.strip({s})",
        "{s}.rstrip('a,é')",
        "{s}.replace({s}, {s})",
        "{s}[1:]",
        "{s}[:2]",
        "{s}[-2:]",
        "{s}[1:-1]",
        "{s}[0]",
        "{s}[-1]",
        "{s}[{i}]",
        "{s}.split()[0]",
        "{s}.split(',')[-1]",
        "{s}.split({s}, 1)[0]",
        "{s}.split(None, 1)[-1]",
        "{s}.split(None, {i})[0]",
        "{s}.split()[1:][0]",
        "{s}.partition({s})[2]",
        "{s}.partition(',')[0]",
        "({s} if {b} else {s})",
        "({s} or {s})",
        "({s} and {s})",
        "min({s}, {s})",
        "max({s}.split())",
        "str({i})",
        "str({s})",
        "{s}[-3:-1]",
        "{s}[1:-100]",
        "{s}[2:1]",
        "({s} + {s})[1:3]",
        "{s}.lower().upper()",
        "{s}.split()[-2:][0]",
        "min([w.lower() for w in {s}.split()])",
        "{s}.lstrip({s})",
        "sorted({s}.split({s}))[0]",
        "sorted({s}.split(), reverse=True)[-1]",
        "sorted({s}.split(), reverse={b})[1]",
        "list(set({s}.split()))[0]",
        "[*set({s}.split())][-1]",
        "list(frozenset({s}.split({s})))[-1]",
        "sorted(set({s}.split()))[-1]",
        "list(⟨w.lower() for w in {s}.split(',')⟩)[1]",
        "max(sorted([w.strip() for w in {s}.split(',')])[:2])",
        "{s}.split(sep={s}, maxsplit={i})[-1]",
        "str({f})",
        "str({b})",
        "(lambda p, q, r: f'⟨p⟩=⟨q!r⟩ ⟨r!s⟩ ⟨q:.2f⟩⟨p!s⟩')({s}, {f}, {i})",
        "(lambda p: f'⟨p:.0f⟩⟨p⟩⟨p!r⟩')({i})",
        "(lambda p: f'⟨p⟩⟨None⟩⟨1.5⟩⟨p!r⟩')({b})",
        "(lambda p: f'⟨p:.7f⟩⟨p⟩')({f})",
    ],
}


class FunctionMaker:
    """Makes the source of functions of one row."""

    def __init__(self, random: Random, captures: bool) -> None:
        self.random = random
        self.captures = captures
        self.names: dict[str, list[str]] = {"i": [], "f": [], "b": [], "s": []}

    def expression(self, kind: str, depth: int) -> str:
        chance = self.random
        if depth <= 0 or chance.random() < 0.15:
            return self._leaf(kind)
        template = chance.choice(TEMPLATES[kind])
        if not self.captures and any(
            each in template for each in ("WEIGHTS", "FEW", "add(", "named(")
        ):
            template = TEMPLATES[kind][0]
        made = ""
        while template:
            before, brace, rest = template.partition("{")
            made += before
            if not brace:
                break
            symbol, _, template = rest.partition("}")
            made += chance.choice(COMPARED) if symbol == "c" else self.expression(symbol, depth - 1)
        return made.replace("⟨", "{").replace("⟩", "}")

    def _leaf(self, kind: str) -> str:
        known = self.names[kind]
        if known and self.random.random() < 0.8:
            return self.random.choice(known)
        if kind == "b":
            return self.random.choice(["True", "False", *known])
        constants = {"i": INTS, "f": FLOATS, "s": TEXTS}[kind]
        if not self.captures:
            constants = [each for each in constants if each not in ("GLOBAL", "captured", "NAME")]
            constants = [each for each in constants if "WEIGHTS" not in each]
        return self.random.choice(constants)

    def body(self, unpacked: str, kinds: dict[str, str], result: str) -> list[str]:
        """The lines of a function of `row` that returns what the result's template says."""
        lines = [f"{unpacked} = row"]
        for name, kind in kinds.items():
            self.names[kind].append(name)
        for number in range(self.random.randrange(4)):
            lines += self._statement(f"v{number}")
            if self.random.random() < 0.1:
                early = result.format(**{k: self.expression(k, 1) for k in "ifbs"})
                lines += [f"if {self.expression('b', 1)}:", f"    return {early}"]
        returned = result.format(**{k: self.expression(k, 3) for k in "ifbs"})
        return [*lines, f"return {returned}"]

    def _statement(self, name: str) -> list[str]:
        chance = self.random
        kind = chance.choice("ifbs" if self.names["s"] else "ifb")
        known = self.names[kind]
        match chance.randrange(7):
            case 0 | 1:
                lines = [f"{name} = {self.expression(kind, 3)}"]
            case 2:
                lines = [
                    f"if {self.expression('b', 2)}:",
                    f"    {name} = {self.expression(kind, 2)}",
                    "else:",
                    f"    {name} = {self.expression(kind, 2)}",
                ]
            case 3 if known:
                changed = chance.choice(known)
                return [
                    f"if {self.expression('b', 2)}:",
                    f"    {changed} = {self.expression(kind, 2)}",
                ]
            case 4 if self.names["i"]:
                step = chance.choice(["break", "continue"])
                lines = [
                    f"{name} = 0",
                    f"for n in (1, {self.expression('i', 1)}, 3):",
                    f"    if {self.expression('b', 1)}: {step}",
                    f"    {name} = {name} + n",
                    "else:",
                    f"    {name} = {self.expression('i', 1)}",
                ]
                kind = "i"
            case 5:
                lines = [f"{name} = 1", f"{name} = {chance.choice(LAZY).format(name)}"]
                kind = "i"
            case _:
                kind = chance.choice("if")
                start = "0" if kind == "i" else "0.0"
                operand = self.expression(kind, 1)
                lines = [
                    f"{name} = {start}",
                    f"for n in range({chance.randrange(4)}):",
                    f"    {name} = {name} + n * {operand}",
                ]
        self.names[kind].append(name)
        return lines


def compiled(lines: list[str], captured: Any) -> Any:
    """The function of these lines, which captures one variable."""
    inner = "\n".join(f"        {line}" for line in lines)
    source = f"def make(captured):\n    def function(row):\n{inner}\n    return function"
    scope = dict(SCOPE)
    with warnings.catch_warnings():
        # A literal may be compared by identity here.
        warnings.simplefilter("ignore")
        exec(source, scope)
    function = scope["make"](captured)
    function.source = source
    return function
