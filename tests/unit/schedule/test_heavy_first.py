"""Heavy reducers are fetched for first, and start first."""

from __future__ import annotations

from conversation import map_stage, result_stage
from threenodes import MIB, Nodes

REDUCERS = 12
HEAVY = 10
SIZES = [8 * MIB if index == HEAVY else MIB for index in range(REDUCERS)]


def test_a_heavy_reducer_is_in_the_first_round_and_starts_first() -> None:
    talk = Nodes()
    talk.submit(result_stage(1, REDUCERS, map_stage(0, 6)))
    for _ in range(5):
        talk.make(*SIZES)
    plan = talk.scheduler.stages._runs[1].plan
    assert plan is not None
    first = [index for indices in plan.units[0].reducers.values() for index in indices]
    assert HEAVY in first and plan.unit_of[HEAVY] is plan.units[0]
    talk.make(*SIZES)
    assert HEAVY in [launch.partitions[0] for launch in talk.running.values()]


def test_even_reducers_keep_their_order() -> None:
    talk = Nodes()
    talk.submit(result_stage(1, REDUCERS, map_stage(0, 6)))
    for _ in range(6):
        talk.make(*[MIB] * REDUCERS)
    started = sorted(launch.partitions[0] for launch in talk.running.values())
    assert started == [0, 1, 2]
