"""How long a stage takes: the slowest executor, its work, and where its blocks lie."""

import pytest

from pyrite.rent.completion import (
    MANY,
    BlockCount,
    Hire,
    Instance,
    Rates,
    StageLoad,
    TaskLoad,
    longest_queue,
    parts_of,
    run_stage,
)

GB = 1 << 30
RATES = Rates(0.0, 0.0, 1e18, 1e18, 0.0, 0.0, 0.0, 1e9, 1e8, 1e8)
NODE = Instance("node", 2, 4 * GB, ((0.0, 1.0),))
LENDER = Instance("lender", 1, 10 * GB, ((0.0, 1.0),), network_bytes_per_s=1e9)


def reading(tasks: int, size: float) -> StageLoad:
    return StageLoad("scan", (TaskLoad(1.0, kept=BlockCount(1, size)),) * tasks, tasks * size)


def test_the_slowest_executor_ends_the_stage() -> None:
    assert longest_queue([3.0, 1.0, 1.0, 1.0], 2) == 3.0
    assert longest_queue([1.0, 1.0, 1.0, 3.0], 2) == 4.0
    assert longest_queue([2.0] * 5, 2) == 6.0
    assert longest_queue([1.0, 5.0], 8) == 5.0
    assert longest_queue([], 3) == 0.0


def test_local_memory_comes_first_then_others_then_disk() -> None:
    load = reading(8, GB)
    assert parts_of(load, Hire(NODE, 8)) == (1.0, 0.0, 0.0, 0.0)
    assert parts_of(load, Hire(NODE, 2)) == (0.25, 0.0, 0.75, 0.0)
    assert parts_of(load, Hire(NODE, 2, LENDER, 1)) == (0.25, 0.75, 0.0, 0.0)


def test_remote_memory_is_slower_than_local_and_faster_than_disk() -> None:
    load = reading(8, GB)
    local = run_stage(load, Hire(Instance("big", 2, 16 * GB, ((0.0, 1.0),)), 2), RATES).seconds
    remote = run_stage(load, Hire(NODE, 2, LENDER, 1), RATES).seconds
    disk = run_stage(load, Hire(NODE, 2), RATES).seconds
    assert local == pytest.approx(2.0)
    # Two waves; 0.75 GB each over a link of 1 GB/s that four executors share.
    assert remote == pytest.approx(2 * (1.0 + 0.75 * GB / 0.25e9))
    # A disk of 0.1 GB/s that two executors share.
    assert disk == pytest.approx(2 * (1.0 + 0.75 * GB / 0.5e8))


def test_a_reducer_finds_only_its_machines_share_at_hand() -> None:
    load = StageLoad("reduce", (TaskLoad(0.0, shuffled=BlockCount(4, 1e6)),) * 4, 4e6)
    assert run_stage(load, Hire(NODE, 1), RATES).seconds == pytest.approx(0.0, abs=1e-4)
    assert run_stage(load, Hire(NODE, 2), RATES).seconds == pytest.approx(0.5e-3, rel=0.01)


def test_live_rows_without_room_are_computed_again() -> None:
    load = StageLoad("map", (TaskLoad(1.0, remade_s=10.0),), live_bytes=2.8 * GB)
    spell = run_stage(load, Hire(NODE, 1), RATES)
    assert spell.parts.remade == pytest.approx(0.5)
    assert spell.seconds == pytest.approx(6.0)
    assert run_stage(load, Hire(NODE, 2), RATES).seconds == pytest.approx(1.0)


def test_a_faster_machine_works_faster_and_a_busy_one_slower() -> None:
    load = StageLoad("map", (TaskLoad(6.0),) * 2)
    fast = Instance("fast", 2, GB, ((0.0, 1.0),), speed=2.0)
    assert run_stage(load, Hire(fast, 1), RATES).seconds == pytest.approx(3.0)
    crowded = Rates(0.0, 0.0, 1e9, 1e9, 0.0, 0.0, 0.0, 1e9, 1e8, 1e8, efficiency=0.5)
    assert run_stage(load, Hire(NODE, 1), crowded).seconds == pytest.approx(12.0)


def test_rows_that_do_not_fit_into_a_task_are_spilled() -> None:
    tight = Instance("tight", 1, 1 << 20, ((0.0, 1.0),))
    load = StageLoad("group", (TaskLoad(0.0, shuffled=BlockCount(1, 10e6)),), 1.0)
    roomy = run_stage(load, Hire(NODE, 1), RATES).seconds
    assert run_stage(load, Hire(tight, 1), RATES).seconds > roomy + 0.1


def test_the_driver_launches_one_task_after_another() -> None:
    busy = Rates(0.0, 0.01, 1e9, 1e9, 0.0, 0.0, 0.0, 1e9, 1e8, 1e8)
    load = StageLoad("map", (TaskLoad(0.001),) * 100, idle_s=5.0)
    assert run_stage(load, Hire(NODE, 50), busy).seconds == pytest.approx(6.0)


def test_very_many_tasks_are_looked_at_together() -> None:
    own_s = [1.0 + (number * 7919 % 100) / 100 for number in range(4 * MANY)]
    few = [StageLoad("map", tuple(map(TaskLoad, own_s[place::8]))) for place in range(8)]
    many = StageLoad("map", tuple(map(TaskLoad, own_s)))
    together = run_stage(many, Hire(NODE, 4), RATES).seconds
    apart = sum(run_stage(each, Hire(NODE, 4), RATES).seconds for each in few)
    assert together == pytest.approx(apart, rel=0.05)
    assert together == pytest.approx(longest_queue(own_s, 8), rel=0.02)
