"""Random lineages as data: sources, steps over them, and actions on what they make."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import strategies as st
from lineage_actions import ACTIONS
from lineage_operators import OPERATORS, pairs
from plain_rows import Plain

from pyrite import RDD, SparkContext

MOST_STEPS = 8
MOST_ACTIONS = 5
# As printed: about what a few thousand rows take.
MOST_CHARACTERS = 60_000
# Enough for executors of little memory to spill.
MOST_FAT_CHARACTERS = 4_000_000
FAT = 4000


class Source(NamedTuple):
    """Rows from `parallelize`, `range` or `textFile`, in so many slices.

    Those of "fat" are `parallelize`d too: so many pairs with long values, some of them equal.
    """

    kind: str
    rows: Any
    slices: int


class Step(NamedTuple):
    """An operator over datasets, which are numbered in the order in which they are made."""

    operator: str
    parents: tuple[int, ...]
    arguments: tuple[Any, ...] = ()


class Ask(NamedTuple):
    """An action on a dataset."""

    action: str
    dataset: int
    arguments: tuple[Any, ...] = ()


class Program(NamedTuple):
    """Everything a driver does."""

    sources: tuple[Source, ...]
    steps: tuple[Step, ...]
    asks: tuple[Ask, ...]


def plain_source(source: Source) -> Plain:
    if source.kind == "textFile":
        return Plain(source.rows, ordered=True)
    if source.kind == "range":
        return Plain.sliced(list(range(source.rows)), source.slices)
    if source.kind == "fat":
        return Plain.sliced(fat_rows(source.rows), source.slices)
    return Plain.sliced(list(source.rows), source.slices)


def fat_rows(count: int) -> list[tuple[Any, str]]:
    numbers = [number % (count // 2 + 1) for number in range(count)]
    return [(number, f"{number} ".ljust(FAT, "x")) for number in numbers]


def plain_step(step: Step, made: list[Plain]) -> Plain:
    return OPERATORS[step.operator].plain(*(made[i] for i in step.parents), *step.arguments)


def evaluate(program: Program) -> list[Plain]:
    """Every dataset by plain Python."""
    made = [plain_source(source) for source in program.sources]
    for step in program.steps:
        made.append(plain_step(step, made))
    return made


_files = count()


def build(program: Program, sc: SparkContext, folder: Path) -> list[RDD[Any]]:
    """Every dataset as an RDD."""
    made: list[RDD[Any]] = []
    for source in program.sources:
        if source.kind == "textFile":
            path = folder / f"lines-{next(_files)}.txt"
            path.write_text("".join(f"{line}\n" for line in source.rows), newline="")
            made.append(sc.textFile(str(path), source.slices))
        elif source.kind == "range":
            made.append(sc.range(source.rows, numSlices=source.slices))
        elif source.kind == "fat":
            made.append(sc.parallelize(fat_rows(source.rows), source.slices))
        else:
            made.append(sc.parallelize(source.rows, source.slices))
    for step in program.steps:
        parents = [made[i] for i in step.parents]
        made.append(OPERATORS[step.operator].engine(*parents, *step.arguments))
    return made


def check(ask: Ask, rdds: list[RDD[Any]], plains: list[Plain]) -> None:
    """Runs one action and compares its answer."""
    action, rdd = ACTIONS[ask.action], rdds[ask.dataset]
    if rdd.getNumPartitions() or not action.needs_partitions:
        action.check(rdd, plains[ask.dataset], *ask.arguments)


# Strategies

atoms = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([-1.0, 0.0, 1.0, 2.0, 0.5, 2.0**53]),
    st.integers(-(1 << 70), 1 << 70),
    st.text("abé", max_size=2),
    st.binary(max_size=2),
)
values = atoms | st.tuples(atoms) | st.tuples(atoms, atoms)
lines = st.text("abé \t", max_size=6)
slices = st.integers(1, 6)
sources = st.one_of(
    st.builds(Source, st.just("parallelize"), st.lists(values, max_size=30), slices),
    st.builds(
        Source, st.just("parallelize"), st.lists(st.tuples(atoms, values), max_size=30), slices
    ),
    st.builds(Source, st.just("range"), st.integers(0, 60) | st.just(3000), slices),
    st.builds(Source, st.just("textFile"), st.lists(lines, max_size=20), slices),
)
fat_sources = st.builds(Source, st.just("fat"), st.integers(400, 900), slices)


@st.composite
def programs(draw: st.DrawFn, fat: bool = False) -> Program:
    """Programs of some steps; each is evaluated as it is drawn, so that none grows too large."""
    most_characters = MOST_FAT_CHARACTERS if fat else MOST_CHARACTERS
    chosen = tuple(draw(st.lists(sources, min_size=1 - fat, max_size=2 - fat)))
    if fat:
        chosen = (*chosen, draw(fat_sources))
    made = [plain_source(source) for source in chosen]
    steps: list[Step] = []
    for _ in range(draw(st.integers(2, MOST_STEPS))):
        both = draw(recent(len(made))), draw(recent(len(made)))
        suitable = [name for name in OPERATORS if suits(name, both, made)]
        by_key = [name for name in suitable if OPERATORS[name].suits is pairs]
        name = draw(st.sampled_from(by_key or suitable) | st.sampled_from(suitable))
        operator = OPERATORS[name]
        step = Step(name, both[: operator.parents], draw(operator.arguments))
        result = plain_step(step, made)
        if len(repr(result.rows)) <= most_characters:
            steps.append(step)
            made.append(result)
    asks: list[Ask] = []
    for _ in range(draw(st.integers(1, MOST_ACTIONS))):
        dataset = draw(recent(len(made)))
        action = draw(st.sampled_from([a for a in ACTIONS if ACTIONS[a].suits(made[dataset])]))
        asks.append(Ask(action, dataset, draw(ACTIONS[action].arguments)))
    # What everything else is for.
    asks.append(Ask("collect", len(made) - 1))
    return Program(chosen, tuple(steps), tuple(asks))


def suits(name: str, parents: tuple[int, ...], made: list[Plain]) -> bool:
    operator = OPERATORS[name]
    return operator.suits(*(made[i] for i in parents[: operator.parents]))


def recent(length: int) -> st.SearchStrategy[int]:
    """One of the datasets so far, the last ones more often."""
    return st.integers(0, 3).map(lambda back: max(0, length - 1 - back)) | st.integers(
        0, length - 1
    )
