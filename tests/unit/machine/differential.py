"""The row machine against the interpreter: random chains of functions over odd rows.

python -m differential ROWS [SEED], from this folder, searches on its own.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import warnings
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from operator import add, itemgetter
from random import Random
from typing import Any, NamedTuple

from made_lists import make_list_chain
from noticed import SEEN, noticing
from typed_functions import FunctionMaker, compiled

from pyrite.blocks.codec import encode_packed, open_frames
from pyrite.bounded import sort
from pyrite.bounded.aggregate import Aggregator, combine_values
from pyrite.bounded.join import (
    Join,
    full_outer_join,
    join,
    left_outer_join,
    right_outer_join,
    subtract_by_key,
)
from pyrite.bounded.sort import sort_rows
from pyrite.bounded.space import Space
from pyrite.bounded.traced import (
    cogroup_sides,
    combine_chain,
    group_chain,
    group_frames,
    join_sides,
    send_chain,
)
from pyrite.hashing import portable_hash
from pyrite.machine import take
from pyrite.machine.chain import Chain, ChainRows, Mode, Step, Tracing
from pyrite.machine.framerows import FrameRows
from pyrite.machine.grouprows import GroupRows
from pyrite.machine.packed import Undealt
from pyrite.rdd.fuse import run_steps
from pyrite.rdd.partitioner import RangeFunc, deal_by_keys
from pyrite.shuffle.write import Dealable

MEMORY_BYTES = 4 << 30
PLENTY_BYTES = 1 << 40


class OddInt(int):
    """An int that is not one exactly."""


class OddText(str):
    """A text that is not one exactly."""


class OddFloat(float):
    """A float that is not one exactly."""


ODD: list[Any] = [
    *(2**70, -(2**70), -(2**63), 2**63 - 1, 2**62, 2**53 + 1, -(2**53) - 1, 0, 1, -1),
    *(True, False, None, "a", float("nan"), float("inf"), -float("inf"), -0.0, 0.0),
    *(1e308, -1e308, 5e-324, 2.5, OddInt(5), OddFloat(2.5), (1, 2), [1.0]),
    *(OddText("a b"), "\ud800", "a\udfffb", b"a", "1" * 30, "1_0", "nan", "1e400", "\x1c5"),
]
WORDS = [
    "",
    "a",
    "ab",
    "b",
    "A",
    "12",
    "-7",
    "3.25",
    "1e3",
    ".5",
    "+4",
    "é",
    "Zoë",
    "ß",
    "İ",
    "\u0663",
]
WORDS += [
    "\N{GRINNING FACE}",
    "\N{SNOWMAN}x",
    "0.1",
    "1234567890123456789",
    "12345.678901234567890",
    "1_0",
    "nan",
    "inf",
    "1e400",
    "0x1",
    "Ⅷ",
    "²",
]
BETWEEN = [" ", ",", "  ", "\t", "\xa0", "\u2003", "\n", "\x1f", " , ", "é"]
# How a row is taken apart, the kinds of its variables, and how a row is made.
SHAPES: list[tuple[str, dict[str, str], str]] = [
    ("x", {"x": "i"}, "i"),
    ("x", {"x": "f"}, "f"),
    ("x, y", {"x": "i", "y": "f"}, "(if)"),
    ("x, (y, z)", {"x": "i", "y": "f", "z": "f"}, "(i(ff))"),
    ("x, y, z", {"x": "f", "y": "b", "z": "i"}, "(fbi)"),
    ("x", {"x": "s"}, "s"),
    ("x", {"x": "s"}, "s"),
    ("x, y", {"x": "s", "y": "i"}, "(si)"),
    ("x, y, z", {"x": "s", "y": "s", "z": "f"}, "(ssf)"),
]
JOINS: dict[str, Join] = {
    "join": join,
    "left": left_outer_join,
    "right": right_outer_join,
    "full": full_outer_join,
    "subtract": subtract_by_key,
}
SINKS = ("sum", "count", "reduce", "fold", "combine", "each", "group", "cogroup", "sort", *JOINS)
OVER = ["sorted(xs)", "set(xs)", "sorted(xs, reverse=True)", "list(set(xs))[1:]"]
PARTS = 3
# What goes by key takes some rows at a time, and so reads beyond one that raises.
PAIRED = ("group", "cogroup", *JOINS)
BY_KEY = ("combine", "lists", "each", "sort", *PAIRED)
sort._FEWEST_NATIVE = 1


class Case(NamedTuple):
    """A chain, what becomes of its rows, and how it is run."""

    rows: list[Any]
    steps: list[Step]
    sink: str
    alone: bool
    mode: Mode
    # The pairs of the other side of a join.
    others: tuple[Any, ...] = ()


class Outcome(NamedTuple):
    """What came out, as text, and how many rows had been read by then."""

    text: str
    read: int


def make_case(random: Random) -> Case:
    if random.random() < 0.15:
        return make_list_case(random)
    sink = random.choice(SINKS)
    if sink in (*PAIRED, "sort") and random.random() < 0.7:
        return make_pair_case(random, sink)
    alone = random.random() < 0.8
    unpacked, kinds, layout = random.choice(SHAPES)
    result = {"combine": "({i} % 5, {f})", "each": "({i}, {f})"}.get(
        sink, random.choice(["{i}", "{f}", "{b}"])
    )
    if sink == "sort":
        result = random.choice(["{i}", "{f}", "{s}", "({i}, {f})", "({s}, {i})", "{i} % 5"])
    if sink in PAIRED:
        result = random.choice(["({i} % 5, {f})", "({i} & 3, {i})", "({i} % 3, ({i}, {f}))"])
    if sink in ("reduce", "fold"):
        result = random.choice(["{i}", "{f}"])
    if sink in ("combine", "each", *PAIRED) and "s" in layout and random.random() < 0.8:
        result = random.choice(["({s}, {i})", "({s}, {f})"])
        if sink in PAIRED and random.random() < 0.5:
            result = random.choice(["({s}, {s})", "({i} % 5, {s})", "({s}, ({f}, ({s}, {i})))"])
    elif sink == "combine" and random.random() < 0.5:
        result = random.choice(["({i} & 7, {i})", "({i} % 9, ({f}, {i}, {b}))"])
    captured = random.choice([1, -3, 12]) if alone else 2
    steps: list[Step] = []
    if random.random() < 0.4:
        maker = FunctionMaker(random, alone)
        lines = maker.body(unpacked, kinds, "{b}")
        steps.append(("filter", compiled(lines, captured)))
    lines = FunctionMaker(random, alone).body(unpacked, kinds, result)
    steps.append(("map", compiled(lines, captured)))
    if sink in ("combine", "count") and layout == "s" and random.random() < 0.4:
        steps = [("flatMap", compiled(split_body(random, alone), captured))]
        if sink == "combine":
            steps.append(("map", compiled(["return row, 1"], captured)))
    if sink == "sum" and random.random() < 0.3:
        fan = compiled(["return [row, row + 1, row]"], captured)
        steps.append(("flatMap", fan))
    rows = [make_row(random, layout) for _ in range(random.choice([3, 20, 60]))]
    mode: Mode = random.choice(["EAGER", "DOUBTING"])
    key = "s" if result.startswith("({s}") else "i"
    others = make_others(random, key) if sink in PAIRED else ()
    if alone and random.random() < 0.15:
        steps = noticing(steps, rows[0])
    return Case(rows, steps, sink, alone, mode, others)


def make_pair_case(random: Random, sink: str) -> Case:
    """Pairs as they are, since most made functions raise for one row or another."""
    kind = random.choice("is")
    rows = list(make_others(random, kind))
    lines = random.choice([["return row"], ["x, y = row", "return x, y"]])
    if sink == "sort":
        lines = random.choice([lines, ["return row[0]"], ["return row[1]"]])
    steps: list[Step] = [("map", compiled(lines, 1))]
    mode: Mode = random.choice(["EAGER", "DOUBTING"])
    return Case(rows, steps, sink, True, mode, make_others(random, kind))


def make_others(random: Random, kind: str) -> tuple[Any, ...]:
    """The pairs of a side, some of whose keys the other one has."""
    is_odd = random.random() < 0.3
    value = random.choice(["i", "f", "(if)", "s", "(si)", "(i(sfs))"])
    pairs = []
    for _ in range(random.choice([0, 1, 8, 40])):
        key = random.choice(WORDS) if kind == "s" else random.randrange(-3, 10)
        if is_odd and random.random() < 0.1:
            key = random.choice(ODD)
        pairs.append((key, make_row(random, value)))
    return tuple(pairs)


def split_body(random: Random, captures: bool) -> list[str]:
    """A function of a line that gives its words, or some of them, changed."""
    maker = FunctionMaker(random, captures)
    maker.names["s"] += ["row", "w", "w"]
    word, holds = maker.expression("s", 2), maker.expression("b", 2)
    split = random.choice(
        ["row.split()", "row.split(' ')", "row.split(',')", "row.lower().split()"]
    )
    made = random.choice([split, f"[{word} for w in {split}]", f"({word} for w in {split})"])
    if made != split and random.random() < 0.5:
        made = f"{made[:-1]} if {holds}{made[-1]}"
    return [f"return {made}"]


def make_list_case(random: Random) -> Case:
    """Rows with a list, each item of which becomes a result, or which a later step reads."""
    if random.random() < 0.6:
        layout, steps, sink = make_list_chain(random)
        rows = [make_row(random, layout) for _ in range(random.choice([3, 20]))]
        return Case(rows, steps, sink, True, random.choice(["EAGER", "DOUBTING"]))
    sink = random.choice(["sum", "count", "combine"])
    maker = FunctionMaker(random, captures=True)
    kind, layout = random.choice(
        [("f", "(i[f])"), ("i", "(f[i])"), ("i", "(i[i])"), ("s", "(i[s])")]
    )
    maker.names[layout[1]].append("x")
    prefix = ["x, xs = row", f"v = {maker.expression('f', 2)}"]
    maker.names["f"].append("v")
    maker.names[kind].append("item")
    shapes = {"combine": "({i} % 7, {f})", "sum": random.choice(["{i}", "{f}"]), "count": "{i}"}
    result = shapes[sink].format(i=maker.expression("i", 2), f=maker.expression("f", 2))
    over = random.choice(["xs", "xs", *OVER])
    lines = [*prefix, f"return [{result} for item in {over}]"]
    steps = [("flatMap", compiled(lines, random.choice([1, -3])))]
    if sink != "combine" and random.random() < 0.5:
        steps.append(("filter", compiled(["return row > 0"], 1)))
    rows = [make_row(random, layout) for _ in range(random.choice([3, 20]))]
    return Case(rows, steps, sink, True, random.choice(["EAGER", "DOUBTING"]))


def make_row(random: Random, layout: str) -> Any:
    return _value(random, iter(layout))


def _value(random: Random, layout: Iterator[str]) -> Any:
    kind = next(layout)
    if kind == "(":
        items: list[Any] = []
        while (item := _value(random, layout)) is not END:
            items.append(item)
        return tuple(items)
    if kind == "[":
        inner = next(layout)
        next(layout)
        return [_value(random, iter(inner)) for _ in range(random.randrange(5))]
    if kind == ")":
        return END
    if random.random() < 0.03:
        return random.choice(ODD)
    if kind == "s":
        return make_text(random)
    if kind == "i":
        return random.choice([random.randint(-50, 50), random.randint(-(10**6), 10**6), 0])
    if kind == "f":
        return random.choice([random.uniform(-5, 5), random.gauss(0, 1e6), 0.0, -0.0])
    return random.random() < 0.5


def make_text(random: Random) -> str:
    made = random.choice(WORDS)
    for _ in range(random.choice([0, 0, 1, 3, 30])):
        made += random.choice(BETWEEN) + random.choice(WORDS)
    return made


END = object()


def outcome(case: Case, mode: Mode, refusals: Counter[str] | None = None) -> Outcome:
    """Runs a case; with mode FALSE as the interpreter does alone."""
    SEEN.clear()
    read = 0

    def rows() -> Iterator[Any]:
        nonlocal read
        for row in case.rows:
            read += 1
            yield row

    tracing = Tracing(mode)
    chain = Chain(rows(), case.steps, run_steps, tracing, case.alone)
    try:
        text = repr(run_sink(case.sink, chain, case.others))
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
    if refusals is not None:
        refusals[reason_in(tracing)] += 1
    return Outcome(text, read)


def reason_in(tracing: Tracing) -> str:
    """Why the machine did not run a chain; empty if it did."""
    said = "".join(tracing.said)
    return said.rpartition("in Python: ")[2] if "in Python: " in said else ""


def run_sink(sink: str, chain: Chain, others: tuple[Any, ...] = ()) -> Any:
    is_plain = chain.tracing.mode == "FALSE"
    match sink:
        case "sum":
            return sum(chain.run()) if is_plain else _result(take.sum_rows(chain))
        case "count":
            return sum(1 for _ in chain.run()) if is_plain else _result(take.count_rows(chain))
        case "reduce":
            if is_plain:
                return plain_reduce(chain, lesser)
            return _result(take.reduce_rows(chain, lesser))
        case "group":
            return grouped(chain)
        case "sort":
            return ordered(chain)
        case "cogroup":
            return cogrouped(chain, others)
        case name if name in JOINS:
            return joined(JOINS[name], chain, others)
        case "fold":
            if is_plain:
                return plain_fold(chain, (0, 0.0), counted)
            return _result(take.fold_rows(chain, (0, 0.0), counted))
        case _:
            aggregator = Aggregator(*COMBINERS[sink], add)
            with tempfile.TemporaryDirectory() as folder:
                space = Space(PLENTY_BYTES, folder)
                if is_plain:
                    return list(combine_values(chain.run(), aggregator, space))
                return list(combine_chain(chain, aggregator, space))


def grouped(chain: Chain) -> list[Any]:
    """The values of each key, by part, and some sums of them, as map and reduce tasks give them."""
    with tempfile.TemporaryDirectory() as folder:
        space = Space(PLENTY_BYTES, folder)
        parts = sent(group_chain(chain, space))
        found: list[Any] = []
        for frames in parts:
            found.append([(key, list(values)) for key, values in group_again(frames, chain, space)])
            found += [summed(group_again(frames, chain, space), each, chain) for each in OF_GROUPS]
        return found


def sent(pairs: Any) -> list[list[Any]]:
    """The frames of each part that pairs are dealt to."""
    parts: list[list[Any]] = [[] for _ in range(PARTS)]
    for dealt in pairs.deal(PARTS, 7) if isinstance(pairs, Dealable) else [Undealt(pairs)]:
        if isinstance(dealt, Undealt):
            for row in dealt.rows:
                parts[portable_hash(row[0]) % PARTS].append([row])
        else:
            for frames, packed in zip(parts, dealt, strict=True):
                frames.extend(open_frames(b"".join(encode_packed(packed))))
    return parts


class Side:
    """One side of a join, as its frames or as a chain."""

    def __init__(self, made: list[Any] | Chain, tracing: Tracing) -> None:
        self.made = made
        self.tracing = tracing

    def batches(self) -> Iterator[list[Any]]:
        return ([row] for row in self.chain().run())

    def chain(self) -> Chain:
        if isinstance(self.made, Chain):
            return self.made
        return Chain(FrameRows(iter(self.made)), [], run_steps, self.tracing, True)


def all_sides(
    chain: Chain, rows: list[Any], others: tuple[Any, ...], space: Space
) -> Iterator[list[Side]]:
    """The two sides of a join: part by part behind a shuffle, and then at once without one."""
    tracing = chain.tracing

    def other() -> Chain:
        return Chain(iter(others), [], run_steps, Tracing(tracing.mode), True)

    def mine() -> Chain:
        return chain.behind(iter(rows), chain.steps, chain.alone)

    left, right = sent(send_chain(mine(), space)), sent(send_chain(other(), space))
    for part in range(PARTS):
        yield [Side(left[part], tracing), Side(right[part], tracing)]
        yield [Side(right[part], tracing), Side(left[part], tracing)]
    yield [Side(mine(), tracing), Side(other(), tracing)]
    yield [Side(other(), tracing), Side(mine(), tracing)]


def joined(how: Join, chain: Chain, others: tuple[Any, ...]) -> list[Any]:
    """The rows of a join, and what becomes of them in a chain behind it."""
    found: list[Any] = []
    rows = list(chain.rows)
    with tempfile.TemporaryDirectory() as folder:
        space = Space(PLENTY_BYTES, folder)
        for steps in [[], Random(repr(others)).choice(BEHIND_JOINS)]:
            for left, right in all_sides(chain, rows, others, space):
                made = join_sides(how, left, right, space, chain.tracing)
                found.append(behind(made, steps, chain))
    return found


def behind(rows: Any, steps: list[Step], chain: Chain) -> Any:
    """The rows of a chain behind others, or their sum; or what they raise."""
    alone = isinstance(rows, GroupRows)
    if isinstance(rows, ChainRows):
        before = rows.chain
        rows, steps, alone = before.rows, [*before.steps, *steps], before.alone
    made = Chain(rows, steps, run_steps, Tracing(chain.tracing.mode), alone)
    try:
        if not steps or steps[-1][0] != "map":
            return list(made.run())
        if chain.tracing.mode == "FALSE":
            return sum(made.run())
        return _result(take.sum_rows(made))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def cogrouped(chain: Chain, others: tuple[Any, ...]) -> list[Any]:
    found: list[Any] = []
    rows = list(chain.rows)
    with tempfile.TemporaryDirectory() as folder:
        space = Space(PLENTY_BYTES, folder)
        for steps in [BEHIND_COGROUPS[0], Random(repr(others)).choice(BEHIND_COGROUPS)]:
            for sides in all_sides(chain, rows, others, space):
                made = cogroup_sides(sides, space, chain.tracing)
                found.append(behind(made, steps, chain))
    return found


def ordered(chain: Chain) -> list[Any]:
    """The rows in several orders, and by ranges."""
    rows = list(chain.run())
    found: list[Any] = []
    with tempfile.TemporaryDirectory() as folder:
        space = Space(PLENTY_BYTES, folder)
        for key, reverse in product([None, itemgetter(0), str], [False, True]):
            try:
                found.append(list(sort_rows(iter(rows), key, reverse, space, chain.tracing)))
            except Exception as error:
                found.append(f"{type(error).__name__}: {error}")
    for bounds, ascending in product([rows[1:2], sorted(map(repr, rows))[::3]], [False, True]):
        found.append(ranged(rows, bounds, ascending, chain.tracing.mode == "FALSE"))
    return found


def ranged(rows: list[Any], bounds: list[Any], ascending: bool, is_plain: bool) -> Any:
    buckets: list[list[Any]] = [[] for _ in range(len(bounds) + 1)]
    keys = list(map(repr, rows)) if len(bounds) > 1 else rows
    try:
        if not is_plain:
            deal_by_keys(rows, keys, buckets, RangeFunc(bounds, None, ascending))
            return buckets
        for row, key in zip(rows, keys, strict=True):
            place = bisect_left(bounds, key)
            buckets[place if ascending else len(bounds) - place].append(row)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return buckets


def same_once(values: Any) -> Any:
    """A set without NaN: each is equal to itself as an object only, and hashed by its address."""
    return {each for each in values if each == each}


BEHIND_JOINS: list[list[Step]] = [
    [("map", lambda row: row[1][1])],
    [("map", lambda row: 1 if row[1][0] is None else 2 if row[1][1] is None else 3)],
    [("filter", lambda row: row[0]), ("map", lambda row: len(row))],
    [("mapValues", lambda pair: pair[0]), ("values", None), ("map", lambda x: x + 1)],
    [("flatMapValues", lambda pair: pair), ("map", lambda row: 0.5 if row[1] is None else 1)],
    [("map", lambda row: len(row[1][1]))],
    [("map", lambda row: len(f"{row[1][0]}-{row[1][1]}"))],
    [("filter", lambda row: row[1][0] < row[1][1]), ("map", lambda row: len(row[1][0]))],
]
BEHIND_COGROUPS: list[list[Step]] = [
    [("mapValues", lambda sides: [list(each) for each in sides])],
    [("map", lambda row: len(row[1][0]) - 3 * len(row[1][1]))],
    [("values", None), ("map", lambda sides: sum(sides[0]) * len(sides[1]))],
    [("values", None), ("map", lambda sides: max(sides[1], default=0))],
    [("mapValues", lambda s: [x for x in s[0] if x == x]), ("map", lambda row: len(row[1]))],
    [("values", None), ("map", lambda sides: len(sorted(sides[1])[-1]) * len(sides[0]))],
    [
        ("values", None),
        ("map", lambda s: len(same_once(s[0])) - len(sorted(s[1], reverse=True)[:2])),
    ],
    [("flatMap", lambda row: same_once(row[1][0])), ("map", lambda x: x + 1)],
]


def group_again(frames: list[Any], chain: Chain, space: Space) -> Any:
    return group_frames(iter(frames), space, chain.tracing)


def summed(rows: Any, function: Any, chain: Chain) -> Any:
    """The sum of what a function makes of each group."""
    steps: list[Step] = [("mapValues", function), ("values", None)]
    behind = Chain(rows, steps, run_steps, Tracing(chain.tracing.mode), True)
    try:
        if chain.tracing.mode == "FALSE":
            return sum(behind.run())
        return _result(take.sum_rows(behind))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


OF_GROUPS: list[Any] = [
    len,
    sum,
    max,
    lambda values: min(values),
    lambda values: max(list(values)) - min(values),
    lambda values: sum(each * 0.5 for each in values) / len(values),
    lambda values: sum([each for each in values if each > 0]),
    lambda values: sum([one for one, _ in values]),
    lambda values: len([each for each in values if each == each]) if values else 0,
    lambda values: sorted(values)[0],
    lambda values: len(same_once(values)),
    lambda values: list(same_once(values))[-1],
    lambda values: sum(sorted(values, reverse=True)[:2]),
    lambda values: len(sorted(values)[-1]),
    lambda values: sum([len(each) for each in values]),
    lambda values: len(max(values)),
    lambda values: sorted(values, reverse=True)[0][0],
    lambda values: len("".join(sorted(values)[:2])),
    lambda values: len(sorted(same_once(values))[0] + min(values)),
    lambda values: len(f"{sorted(values)[-1]}"),
]


def _result(taken: take.Taken | None) -> Any:
    assert taken is not None
    return taken.result


def plain_reduce(chain: Chain, function: Callable[[Any, Any], Any]) -> Any:
    state: list[Any] = []
    for value in chain.run():
        state[:] = [function(state[0], value)] if state else [value]
    return state


def plain_fold(chain: Chain, zero: Any, function: Callable[[Any, Any], Any]) -> Any:
    for value in chain.run():
        zero = function(zero, value)
    return zero


def lesser(left: Any, right: Any) -> Any:
    return left if left < right else right


def counted(state: Any, value: Any) -> Any:
    return state[0] + 1, state[1] + value


def same(value: Any) -> Any:
    return value


def merged(left: Any, right: Any) -> Any:
    if isinstance(left, tuple):
        return left[0] + right[0], left[1] - right[1], left[2]
    return left + right


def nothing(value: Any) -> Any:
    return 0


def with_sum(combiner: Any, values: Any) -> Any:
    return combiner + sum(values)


def listed(value: Any) -> Any:
    return (value, 1)


def listed_more(combiner: Any, value: Any) -> Any:
    return (value, combiner[1] + 1)


COMBINERS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "combine": (same, merged),
    "each": (listed, listed_more),
    # A key's first list is not read.
    "lists": (nothing, with_sum),
}


def find_difference(case: Case, refusals: Counter[str] | None = None) -> str:
    """What the two ways disagree in; empty if they agree."""
    got, want = outcome(case, case.mode, refusals), outcome(case, "FALSE")
    read_alike = case.sink in BY_KEY or got.read == want.read
    if got.text == want.text and read_alike:
        return ""
    sources = "\n".join(getattr(step, "source", repr(step)) for _, step in case.steps)
    return f"{case}\n{sources}\nmachine     {got}\ninterpreter {want}"


def search(rows: int, seed: int) -> Counter[str]:
    """Compares cases until so many rows were run; raises for the first that differs."""
    refusals: Counter[str] = Counter()
    done = number = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while done < rows:
            case = make_case(Random(f"{seed}/{number}"))
            difference = find_difference(case, refusals)
            if difference:
                raise AssertionError(f"case {number} of seed {seed}: {difference}")
            done += len(case.rows)
            number += 1
    return refusals


def main() -> None:
    if os.environ.get("PYTHONHASHSEED") != "0":
        # As in executors: the order of a set of texts is known then.
        program = [sys.executable, "-m", "differential", *sys.argv[1:]]
        os.execve(sys.executable, program, {**os.environ, "PYTHONHASHSEED": "0"})
    rows = int(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    # Huge shifts and powers are the interpreter's own trap.
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    refusals = search(rows, seed)
    cases, traced = sum(refusals.values()), refusals.pop("", 0)
    print(f"{rows} rows, {cases} cases, {traced} traced; refused:")
    for reason, count in refusals.most_common(12):
        print(f"{count:8} {reason}")


if __name__ == "__main__":
    main()
