"""Random lineages give what plain Python gives, whatever happens to executors meanwhile."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lineage import Program
from lineage_strategies import programs
from sabotage import Faults, some_faults, some_kills
from trials import Start, run, run_at_once, tries

# Each tries many programs, one after another.
pytestmark = pytest.mark.timeout(600)

SPECULATING = {
    "spark.speculation": "true",
    "spark.speculation.interval": "1ms",
    "spark.speculation.multiplier": "1",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.minTaskRuntime": "0ms",
}
TIGHT = {"spark.executor.memory": "12m", "pyrite.pool.memory": "0", "pyrite.inline.bytes": "64"}
CROWDED = {
    "spark.executor.memory": "12m",
    "pyrite.pool.memory": "33m",
    "pyrite.inline.bytes": "1k",
    "pyrite.cache.liveRows": "false",
}


@tries(120)
@given(program=programs())
def test_undisturbed(
    program: Program, start: Start, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run(program, Faults(), start({}), tmp_path_factory.getbasetemp())


@tries(120)
@given(program=programs(), faults=some_faults)
def test_with_faults(
    program: Program, faults: Faults, start: Start, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run(program, faults, start({}), tmp_path_factory.getbasetemp())


@tries(15)
@given(program=programs(odd=True), faults=some_faults)
def test_values_of_all_kinds(
    program: Program, faults: Faults, start: Start, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run(program, faults, start({"spark.master": "local[2]"}), tmp_path_factory.getbasetemp())


@tries(80)
@given(program=programs(), faults=some_faults)
def test_with_faults_and_copies_of_slow_tasks(
    program: Program, faults: Faults, start: Start, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run(program, faults, start(SPECULATING), tmp_path_factory.getbasetemp())


@tries(60)
@given(program=programs(), kills=some_kills)
def test_two_threads_at_once(
    program: Program, kills: Faults, start: Start, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run_at_once(program, kills, start({}), tmp_path_factory.getbasetemp())


@tries(60)
@given(program=programs(), faults=some_faults)
def test_with_faults_on_two_nodes(
    program: Program, faults: Faults, start: Start, tmp_path_factory: pytest.TempPathFactory
) -> None:
    context = start({"spark.master": "local-cluster[2,1,512m]"})
    run(program, faults, context, tmp_path_factory.getbasetemp())


@pytest.mark.parametrize("room", [TIGHT, CROWDED], ids=["no pool", "small pool"])
@tries(60)
@given(program=st.booleans().flatmap(programs), faults=some_faults)
def test_with_faults_and_little_room(
    program: Program,
    faults: Faults,
    room: dict[str, str],
    start: Start,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    run(program, faults, start(room), tmp_path_factory.getbasetemp())
