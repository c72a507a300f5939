"""Thousands of seeds: every answer right, nothing left behind, and the rare ways taken."""

from __future__ import annotations

import os

import pytest
from cases import FIRST_ODD_SEED
from exploring import Summary, explore
from rare_ways import all_marks

SEEDS = 2000
ODD_SEEDS = 200
# Ways that may need more seeds than these.
NEEDS_MORE_SEEDS = {
    # Of the few tasks of a barrier one is done, another runs elsewhere, and just then the first
    # one's node goes.
    "a node goes with what some tasks of a barrier made",
    # The same output is lost four times before one stage is through.
    "a stage loses its input too often",
    # An executor evicts the rows between the launch of the task and its start.
    "kept rows are gone that hid a shuffle",
    # A copy of a task and a group with the same partition end one after the other.
    "a partition of a group was done by a copy",
    # The last piece of a reducer ends just when another was lost.
    "a piece is done that nobody needs",
    # A node is given up while a segment moves, and says so all the same.
    "a segment arrives that nobody waits for",
}


def run(seeds: range) -> Summary:
    *_, last = explore(seeds, os.cpu_count() or 1)
    return last


def assert_none_failed(total: Summary, seeds: int) -> None:
    told = [f"seed {seed}: {why}\nsee it with: scripts/sim {seed}" for seed, why in total.failed]
    assert not told, "\n".join(told)
    assert total.seeds == seeds


@pytest.fixture(scope="module")
def total() -> Summary:
    return run(range(SEEDS))


@pytest.mark.timeout(600)
def test_no_seed_fails(total: Summary) -> None:
    assert_none_failed(total, SEEDS)


@pytest.mark.timeout(600)
def test_no_seed_with_odd_values_fails() -> None:
    assert_none_failed(run(range(FIRST_ODD_SEED, FIRST_ODD_SEED + ODD_SEEDS)), ODD_SEEDS)


@pytest.mark.timeout(600)
def test_the_rare_ways_are_taken(total: Summary) -> None:
    assert not total.failed, "the seeds were not run to the end"
    never = all_marks().keys() - total.marks.keys()
    assert never - NEEDS_MORE_SEEDS == set()


def test_what_needs_more_seeds_is_a_mark() -> None:
    assert all_marks().keys() >= NEEDS_MORE_SEEDS
