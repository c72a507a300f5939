"""Programs drawn from seeds: always the same, right on the real engine, and shrinkable."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from operator import add
from pathlib import Path
from random import Random
from typing import Any

import pytest
import row_functions
from lineage import Ask, Cancel, Program, Source, Step, build, check, evaluate
from lineage_actions import ACTIONS
from lineage_operators import LEVELS, OPERATORS
from plain_rows import Plain, expect_rows
from program_text import text
from random_programs import SIZES, random_program
from smaller_programs import bulk, is_valid, shrink

from pyrite import RDD, SparkConf, SparkContext, StorageLevel
from pyrite.errors import JobCancelled

SEEDS = 600
RUN_SEEDS = range(12)
PRINT = """
from random import Random
from lineage import evaluate
from random_programs import random_program
from smaller_programs import shrink
for seed in range(40):
    print(program := random_program(Random(seed), files=True))
    print([plain.rows for plain in evaluate(program)])
    print(list(shrink(program)))
"""


@pytest.fixture(scope="module")
def programs() -> list[Program]:
    return [random_program(Random(seed)) for seed in range(SEEDS)]


@pytest.fixture(scope="module")
def sc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkContext]:
    conf = SparkConf(False).setMaster("local[2]").setAppName("programs")
    context = SparkContext(conf=conf)
    context.setCheckpointDir(str(tmp_path_factory.mktemp("checkpoints")))
    yield context
    context.stop()


def printed(hash_seed: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PRINT],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_a_seed_gives_the_same_program_in_every_process() -> None:
    first = printed("1")
    assert first.count("Program(") > 40
    assert printed("2") == first


def test_everything_is_drawn_sooner_or_later(programs: list[Program]) -> None:
    steps = [step for program in programs for step in program.steps]
    asks = [ask for program in programs for asks in program.threads for ask in asks]
    assert {step.operator for step in steps} == OPERATORS.keys()
    assert {ask.action for ask in asks} == ACTIONS.keys()
    assert {step.arguments[0] for step in steps if step.operator == "persist"} == set(LEVELS)
    assert {len(program.threads) for program in programs} == {1, 2, 3}
    assert {source.slices for program in programs for source in program.sources} == set(range(1, 9))


def test_some_are_skewed_and_some_are_cancelled(programs: list[Program]) -> None:
    def most_frequent(source: Source) -> float:
        groups = Plain(source.rows).groups().values()
        return max(len(values) for _, values in groups) / len(source.rows)

    pairs = [
        source
        for program in programs
        for source in program.sources
        if source.kind == "parallelize" and Plain(source.rows).is_pairs
    ]
    assert sum(most_frequent(source) > 0.6 for source in pairs) > len(pairs) / 4
    groups = {ask.group for each in programs for asks in each.threads for ask in asks}
    assert groups == {None, "first", "second"}
    cancelled = sum(bool(program.cancels) for program in programs)
    assert SEEDS / 20 < cancelled < SEEDS / 2


@pytest.mark.parametrize("size", SIZES)
def test_programs_are_valid_and_no_larger_than_said(size: str) -> None:
    limits = SIZES[size]
    for seed in range(30):
        program = random_program(Random(seed), size)
        assert is_valid(program)
        assert 1 <= len(program.threads) <= 3 and all(program.threads)
        assert len(program.steps) <= limits.steps[1]
        made = evaluate(program)[len(program.sources) :]
        assert all(plain.weight <= limits.weight for plain in made)


def test_text_files_are_drawn_where_they_are_wanted() -> None:
    def kinds(files: bool) -> set[str]:
        drawn = [random_program(Random(seed), files=files) for seed in range(50)]
        return {source.kind for program in drawn for source in program.sources}

    assert kinds(False) == {"parallelize", "range"}
    assert kinds(True) == {"parallelize", "range", "textFile"}


def test_what_is_shrunk_is_smaller_and_valid(programs: list[Program]) -> None:
    candidates = 0
    for program in programs[:60]:
        for smaller in shrink(program):
            candidates += 1
            assert bulk(smaller) < bulk(program)
            assert is_valid(smaller)
    assert candidates > 600


def test_shrinking_finds_the_step_that_matters() -> None:
    def fails(program: Program) -> bool:
        return any(step.operator == "cogroup" for step in program.steps)

    program = next(each for seed in range(SEEDS) if fails(each := random_program(Random(seed))))
    while smaller := next(filter(fails, shrink(program)), None):
        program = smaller
    assert program == Program(
        sources=program.sources,
        steps=(Step("cogroup", (0, 0), (None,)),),
        threads=((Ask(program.threads[0][0].action, 1, program.threads[0][0].arguments),),),
    )
    assert [(source.rows or (), source.slices) for source in program.sources] == [((), 1)]


def test_a_step_left_out_is_replaced_by_its_parent() -> None:
    program = Program(
        sources=(Source("range", 1, 1),),
        steps=(Step("map", (0,), ("keyed",)), Step("values", (1,)), Step("glom", (2,))),
        threads=((Ask("collect", 3),),),
    )
    found = [[step.operator for step in each.steps] for each in shrink(program)]
    assert found[:2] == [["map", "values"], ["map", "glom"]]
    # Without its pairs nothing has values.
    assert ["values", "glom"] not in found


def run(program: Program, sc: SparkContext, folder: Path) -> None:
    """Runs every thread of a program and cancels its groups when it says so."""
    plains = evaluate(program)
    rdds = build(program, sc, folder)
    events = 0

    def hear(*told: Any) -> None:
        nonlocal events
        for cancel in program.cancels:
            if cancel.after_event == events:
                sc.cancelJobGroup(cancel.group)
        events += 1

    def ask_all(asks: tuple[Ask, ...]) -> None:
        for ask in asks:
            check(ask, rdds, plains, program.cancels)

    sc._engine.story.listeners.append(hear)
    try:
        with ThreadPoolExecutor(len(program.threads)) as threads:
            list(threads.map(ask_all, program.threads))
    finally:
        sc._engine.story.listeners.remove(hear)


@pytest.mark.parametrize("seed", RUN_SEEDS)
def test_programs_run_right(seed: int, sc: SparkContext, tmp_path: Path) -> None:
    run(random_program(Random(seed), files=True), sc, tmp_path)


def test_only_a_group_that_is_cancelled_may_be(sc: SparkContext) -> None:
    class Cancelled:
        context = sc

        def collect(self) -> None:
            raise JobCancelled("job 1 was cancelled")

    rdds: list[RDD[Any]] = [Cancelled()]  # type: ignore[list-item]
    ask = Ask("collect", 0, group="first")
    check(ask, rdds, [Plain([])], [Cancel("first", 3)])
    for other in (ask, ask._replace(group="second"), ask._replace(group=None)):
        cancels = [Cancel("first", 3)] if other.group != "first" else []
        with pytest.raises(JobCancelled):
            check(other, rdds, [Plain([])], cancels)
    assert sc.getLocalProperty("spark.jobGroup.id") is None


def test_a_wrong_answer_is_told_with_the_right_one(sc: SparkContext) -> None:
    with pytest.raises(AssertionError, match=r"count: 2 instead of 3"):
        check(Ask("count", 0), [sc.parallelize([1, 2], 1)], [Plain([1, 2, 3])])


def every_operator() -> Program:
    """One program with every operator over three sources, and every action."""
    sources = (
        Source("parallelize", tuple((key, key) for key in row_functions.KEYS), 2),
        Source("range", 5, 2),
        Source("textFile", ("a b", "", "é"), 2),
    )
    steps = tuple(
        Step(name, (0,) * each.parents, tuple(choice[-1] for choice in each.arguments))
        for name, each in OPERATORS.items()
    )
    asks = tuple(
        Ask(name, 0, tuple(choice[-1] for choice in each.arguments))
        for name, each in ACTIONS.items()
    )
    return Program(sources, steps, (asks, (Ask("collect", 2, group="first"),)))


def test_the_text_is_python_that_makes_the_same_datasets(sc: SparkContext, tmp_path: Path) -> None:
    def written(lines: list[str]) -> str:
        path = tmp_path / "lines.txt"
        path.write_text("".join(f"{line}\n" for line in lines))
        return str(path)

    program = every_operator()
    names: dict[str, Any] = {**vars(row_functions), "sc": sc, "add": add, "written": written}
    names["StorageLevel"] = StorageLevel
    exec(text(program), names)
    assert names["d0"].is_cached is False, "the last action is unpersist"
    for number, plain in enumerate(evaluate(program)):
        expect_rows(f"d{number}", names[f"d{number}"].collect(), plain)


def test_the_text_says_who_asks_and_what_is_cancelled() -> None:
    program = Program(
        sources=(Source("range", 3, 1),),
        steps=(Step("map", (0,), ("keyed",)),),
        threads=((Ask("take", 1, (2,)),), (Ask("reduce", 0, (True,), "first"),)),
        cancels=(Cancel("first", 7),),
    )
    assert text(program).splitlines() == [
        "d0 = sc.range(3, numSlices=1)",
        "d1 = d0.map(keyed)",
        "# thread 0",
        "d1.take(2)",
        "# thread 1",
        "d0.treeReduce(larger)  # in group first",
        "# group first is cancelled after event 7",
    ]
