"""Whose turn it is."""

from __future__ import annotations

from dataclasses import dataclass

from pyrite.schedule.queue import PoolShare, StageQueue


@dataclass(eq=False)
class Stage:
    job: int
    stage: int
    pool: str = "default"
    running_count: int = 0


def order(turns: StageQueue[Stage]) -> list[int]:
    return [each.stage for each in turns.everyone()]


def test_earlier_jobs_come_first_whatever_their_pool() -> None:
    turns: StageQueue[Stage] = StageQueue(fair=False, shares={})
    for stage in (Stage(2, 0), Stage(1, 3, "other"), Stage(1, 2)):
        turns.add(stage)
    assert order(turns) == [2, 3, 0]


def test_a_stage_has_one_turn_and_loses_it_once() -> None:
    turns: StageQueue[Stage] = StageQueue(fair=False, shares={})
    stage = Stage(0, 0)
    turns.add(stage)
    turns.add(stage)
    turns.remove(stage)
    turns.remove(stage)
    assert order(turns) == []


def test_a_stage_moves_back_when_its_first_job_ends() -> None:
    turns: StageQueue[Stage] = StageQueue(fair=False, shares={})
    shared, other = Stage(0, 5), Stage(1, 6)
    turns.add(shared)
    turns.add(other)
    shared.job = 2
    turns.sort(shared)
    assert order(turns) == [6, 5]


def test_changes_do_not_disturb_whoever_walks_the_turns() -> None:
    turns: StageQueue[Stage] = StageQueue(fair=False, shares={})
    stages = [Stage(0, 0), Stage(0, 1), Stage(0, 2)]
    for stage in stages:
        turns.add(stage)
    seen = []
    for stage in turns.everyone():
        turns.remove(stage)
        seen.append(stage)
    assert seen == stages


def test_the_pool_with_least_for_its_weight_comes_first() -> None:
    turns: StageQueue[Stage] = StageQueue(fair=True, shares={"heavy": PoolShare(weight=3)})
    light, heavy = Stage(0, 0, "light"), Stage(1, 1, "heavy")
    turns.add(light)
    turns.add(heavy)
    turns.pool("light").load.running = 1
    turns.pool("heavy").load.running = 2
    assert turns.neediest(passed=()) is heavy
    turns.pool("heavy").load.running = 4
    assert turns.neediest(passed=()) is light
    assert turns.neediest(passed={light.stage}) is heavy
    assert turns.neediest(passed={light.stage, heavy.stage}) is None


def test_a_pool_below_its_minimum_comes_before_all_others() -> None:
    turns: StageQueue[Stage] = StageQueue(fair=True, shares={"entitled": PoolShare(min_share=4)})
    entitled, idle = Stage(0, 0, "entitled"), Stage(1, 1, "idle")
    turns.add(entitled)
    turns.add(idle)
    turns.pool("entitled").load.running = 3
    assert turns.neediest(passed=()) is entitled
    turns.pool("entitled").load.running = 4
    assert turns.neediest(passed=()) is idle


def test_within_a_fair_pool_the_stage_that_runs_least_comes_first() -> None:
    turns: StageQueue[Stage] = StageQueue(fair=True, shares={"default": PoolShare(fair=True)})
    busy, quiet = Stage(0, 0, running_count=2), Stage(1, 1, running_count=1)
    turns.add(busy)
    turns.add(quiet)
    assert turns.neediest(passed=()) is quiet
