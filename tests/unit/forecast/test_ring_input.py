"""Input that lies on the simulated nodes by key, and stays in their memory."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from pyrite.forecast.costs import CostModel, NodeKind
from pyrite.forecast.play import Outcome, simulate
from pyrite.forecast.ringinput import RingInput
from pyrite.forecast.workload import JobModel, StageModel, Workload
from pyrite.ids import NodeId, RddId
from pyrite.place.laf import KEYS
from pyrite.plan.program import NarrowInput, PlanStep
from pyrite.rdd.dependency import SAME
from pyrite.schedule.rules import LafRule, Rules
from pyrite.schedule.scheduler import Scheduler

MB = 1 << 20
NODES = 5
BLOCKS = 20
# Slow enough that reading is what takes time.
KIND = NodeKind(2, 1 << 30, disk_read_bytes_per_s=100e6, network_bytes_per_s=50e6)


def play(cache_bytes: int, laf: LafRule | None, rounds: int = 2) -> Outcome:
    """Jobs one after another that read the same blocks."""
    keys = [KEYS * (2 * index + 1) // (2 * BLOCKS) for index in range(BLOCKS)]
    stages = {
        number: StageModel(number, [0.05] * BLOCKS, input_bytes=[10 * MB] * BLOCKS, input_keys=keys)
        for number in range(rounds)
    }
    jobs = tuple(
        JobModel(number, number, after=(number - 1,) if number else ()) for number in range(rounds)
    )
    rules = Rules(laf=laf, input_cache_bytes=cache_bytes)
    done = simulate(Workload(stages, jobs), [KIND] * NODES, CostModel(), scheduler=Scheduler(rules))
    assert not done.errors
    return done


def test_blocks_lie_at_their_owner_and_both_neighbours() -> None:
    nodes = [NodeId(f"node-{number}") for number in range(NODES)]
    ring = RingInput(nodes)
    assert ring.holders(0) == [nodes[0], nodes[1], nodes[4]]
    assert ring.holders(KEYS - 1) == [nodes[4], nodes[0], nodes[3]]
    assert RingInput(nodes[:1]).holders(7) == nodes[:1]


def test_what_was_read_is_found_the_next_time() -> None:
    strict = LafRule(alpha=0.0, wait_s=inf)
    cold, warm = play(0, strict), play(200 * MB, strict)
    assert (cold.tally.inputs_found, cold.tally.inputs_read) == (0, 2 * BLOCKS)
    assert (warm.tally.inputs_found, warm.tally.inputs_read) == (BLOCKS, BLOCKS)
    assert warm.seconds < cold.seconds
    assert warm.network_bytes == 0, "strict ranges are those of the disks"


def test_a_small_cache_keeps_a_part() -> None:
    some = play(20 * MB, LafRule(alpha=0.0, wait_s=inf))
    assert 0 < some.tally.inputs_found < BLOCKS


def test_without_keys_of_their_own_tasks_read_over_the_network() -> None:
    lost = play(0, None)
    assert lost.network_bytes > 0
    assert lost.seconds > play(0, LafRule(alpha=0.0, wait_s=inf)).seconds


def test_stages_say_how_much_their_tasks_read() -> None:
    read = StageModel(0, [0.1, 0.1], writes=0, input_bytes=[10.0, 90.0])
    reduced = StageModel(1, [0.1], parents=(0,))
    specs = Workload({0: read, 1: reduced}, ()).specs()
    assert specs[0].sources == {0: (10, 90)} and specs[1].sources == {}
    steps = PlanStep(RddId(7), (), 2), PlanStep(RddId(8), (NarrowInput(0, SAME),), 2)
    again = Workload({0: replace(read, steps=steps)}, ()).specs()
    assert again[0].sources == {0: (10, 90)}
