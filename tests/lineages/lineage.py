"""Lineages as data: sources, steps over them, and what threads ask of the datasets they make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from collection_operators import ALL_ACTIONS, ALL_OPERATORS
from keyed_files import keyed_address
from lineage_operators import MOST_BARRIER_TASKS
from odd_rows import odd_rows
from plain_rows import Plain

if TYPE_CHECKING:
    from pyrite import RDD, SparkContext

FAT = 4000


class Source(NamedTuple):
    """Rows from `parallelize`, `range` or `textFile`, in so many slices.

    Those of "fat" are `parallelize`d too: so many pairs with long values, some of them equal; and
    those of "odd": so many pairs of all kinds of values.
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
    """An action on a dataset, perhaps in a job group that someone cancels."""

    action: str
    dataset: int
    arguments: tuple[Any, ...] = ()
    group: str | None = None


class Cancel(NamedTuple):
    """The jobs of a group that run are cancelled after the n-th event since the first ask."""

    group: str
    after_event: int


class Program(NamedTuple):
    """Everything a driver does; each of its threads asks one thing after another."""

    sources: tuple[Source, ...]
    steps: tuple[Step, ...]
    threads: tuple[tuple[Ask, ...], ...]
    cancels: tuple[Cancel, ...] = ()

    @property
    def slots(self) -> int:
        """How many tasks must be able to run at once."""
        meets = any(step.operator in ("barrier", "allGather") for step in self.steps)
        return MOST_BARRIER_TASKS if meets else 1


def plain_source(source: Source) -> Plain:
    if source.kind == "textFile":
        return Plain(source.rows, ordered=True)
    if source.kind == "range":
        return Plain.sliced(list(range(source.rows)), source.slices)
    if source.kind == "fat":
        return Plain.dealt(fat_rows(source.rows), source.slices)
    if source.kind == "odd":
        return Plain.dealt(odd_rows(source.rows), source.slices)
    return Plain.dealt(list(source.rows), source.slices)


def fat_rows(count: int) -> list[tuple[Any, str]]:
    numbers = [number % (count // 2 + 1) for number in range(count)]
    return [(number, f"{number} ".ljust(FAT, "x")) for number in numbers]


def plain_step(step: Step, made: list[Plain]) -> Plain:
    return ALL_OPERATORS[step.operator].plain(*(made[i] for i in step.parents), *step.arguments)


def suits(operator: str, parents: tuple[int, ...], made: list[Plain]) -> bool:
    """Whether the operator takes the first ones of these parents."""
    chosen = ALL_OPERATORS[operator]
    return chosen.suits(*(made[i] for i in parents[: chosen.parents]))


def evaluate(program: Program) -> list[Plain]:
    """Every dataset by plain Python."""
    made = [plain_source(source) for source in program.sources]
    for step in program.steps:
        made.append(plain_step(step, made))
    return made


def unused(folder: Path) -> Path:
    """The same in every run that starts with an empty folder."""
    paths = (folder / f"lines-{number}.txt" for number in count())
    return next(path for path in paths if not path.exists())


def build(program: Program, sc: SparkContext, folder: Path) -> list[RDD[Any]]:
    """Every dataset as an RDD; the folder is for the files of `textFile`."""
    made: list[RDD[Any]] = []
    for source in program.sources:
        if source.kind == "textFile":
            path = unused(folder)
            path.write_text("".join(f"{line}\n" for line in source.rows), newline="")
            # Only there all executors are in this process.
            address = keyed_address(str(path)) if sc.master.startswith("sim") else str(path)
            made.append(sc.textFile(address, source.slices))
        elif source.kind == "range":
            made.append(sc.range(source.rows, numSlices=source.slices))
        elif source.kind == "fat":
            made.append(sc.parallelize(fat_rows(source.rows), source.slices))
        elif source.kind == "odd":
            made.append(sc.parallelize(odd_rows(source.rows), source.slices))
        else:
            made.append(sc.parallelize(source.rows, source.slices))
    for step in program.steps:
        parents = [made[i] for i in step.parents]
        made.append(ALL_OPERATORS[step.operator].engine(*parents, *step.arguments))
    return made


def check(
    ask: Ask, rdds: list[RDD[Any]], plains: list[Plain], cancels: Iterable[Cancel] = ()
) -> None:
    """Runs one action and compares its answer; only a group that is cancelled may give none."""
    action, rdd = ALL_ACTIONS[ask.action], rdds[ask.dataset]
    if action.needs_partitions and not rdd.getNumPartitions():
        return
    try:
        with in_group(rdd.context, ask.group):
            action.check(rdd, plains[ask.dataset], *ask.arguments)
    except Exception as error:
        cancelled = any(each.group == ask.group for each in cancels)
        if not (cancelled and type(error).__name__ == "JobCancelled"):
            raise


@contextmanager
def in_group(sc: SparkContext, group: str | None) -> Iterator[None]:
    """This thread's jobs in a group, for a while."""
    if group is None:
        yield
        return
    sc.setJobGroup(group, f"jobs of {group}")
    try:
        yield
    finally:
        for name in ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel"):
            sc.setLocalProperty(name, None)
