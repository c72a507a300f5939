"""Random lineages give what plain Python gives, whatever happens to executors meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import EXAMPLES, Start
from hypothesis import given, settings
from idle import assert_nothing_left
from lineage import Program, build, check, evaluate, programs
from sabotage import Faults, Saboteur, some_faults

from pyrite import SparkContext

SPECULATING = {
    "spark.speculation": "true",
    "spark.speculation.interval": "1ms",
    "spark.speculation.multiplier": "1",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.minTaskRuntime": "0ms",
}
TIGHT = {"spark.executor.memory": "2m", "pyrite.pool.memory": "0", "pyrite.inline.bytes": "64"}
CROWDED = {
    "spark.executor.memory": "2m",
    "pyrite.pool.memory": "33m",
    "pyrite.inline.bytes": "1k",
    "pyrite.cache.liveRows": "false",
}


def run(program: Program, faults: Faults, sc: SparkContext, folder: Path) -> None:
    """Runs a program, compares every answer, and looks whether anything stays behind."""
    plains = evaluate(program)
    with Saboteur(sc, faults) as saboteur:
        rdds = build(program, sc, folder)
        for number, ask in enumerate(program.asks):
            check(ask, rdds, plains)
            saboteur.spoil(number)
    del rdds
    assert_nothing_left(sc)


def tries(usual: int) -> settings:
    return settings(settings.get_profile("lineages"), max_examples=EXAMPLES or usual)


@tries(120)
@given(program=programs())
def test_undisturbed(program: Program, start: Start, tmp_path_factory: pytest.TempPathFactory) -> None:
    run(program, Faults(), start({}), tmp_path_factory.getbasetemp())


@tries(120)
@given(program=programs(), faults=some_faults)
def test_with_faults(
    program: Program, faults: Faults, start: Start, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run(program, faults, start({}), tmp_path_factory.getbasetemp())


@tries(80)
@given(program=programs(), faults=some_faults)
def test_with_faults_and_copies_of_slow_tasks(
    program: Program, faults: Faults, start: Start, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run(program, faults, start(SPECULATING), tmp_path_factory.getbasetemp())


@pytest.mark.parametrize("room", [TIGHT, CROWDED], ids=["no pool", "small pool"])
@tries(60)
@given(program=programs(), faults=some_faults)
def test_with_faults_and_little_room(
    program: Program,
    faults: Faults,
    room: dict[str, str],
    start: Start,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    run(program, faults, start(room), tmp_path_factory.getbasetemp())
