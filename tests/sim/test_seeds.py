"""Seeds by the hundred: every answer right, nothing left behind, and the probes taken."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from cases import FIRST_ODD_SEED
from exploring import Summary, explore
from probes import all_marks

SEEDS = range(500)
MORE_SEEDS = range(500, 2000)
ODD_SEEDS = range(FIRST_ODD_SEED, FIRST_ODD_SEED + 50)
MORE_ODD_SEEDS = range(FIRST_ODD_SEED + 50, FIRST_ODD_SEED + 200)
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
    # Few programs read the same file twice with little room: test_keyed_input.py has more.
    "cached input gives way",
    "cached input is lost",
    "cached input finds no room",
    "cached input can't be read",
    "there is no room for input",
    # And fewer tag an RDD just when a node goes: test_writer.py has it.
    "a written block can't stay in memory",
    "two tasks cache the same input",
    # Few programs have a hot collection partition in blocks: test_replicas.py has these.
    "a replica takes the place of lost blocks",
    "a replica is lost",
    # An RDD is unpersisted just when the scheduler has chosen it:
    # test_recovery_bound.py has it.
    "an RDD is forgotten before its checkpoint begins",
    # Links are judged by megabytes, which nothing here has: test_fetch_worth.py has it.
    "fetching ahead takes more processor time than it saves",
}


@pytest.fixture(scope="module")
def run() -> Callable[[range], Summary]:
    """Runs seeds on every core, once for all tests."""

    @cache
    def run_once(seeds: range) -> Summary:
        *_, last = explore(seeds, os.cpu_count() or 1)
        return last

    return run_once


@pytest.mark.alone
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "seeds",
    [
        SEEDS,
        ODD_SEEDS,
        pytest.param(MORE_SEEDS, marks=pytest.mark.long),
        pytest.param(MORE_ODD_SEEDS, marks=pytest.mark.long),
    ],
    ids=["", "odd values", "more", "more odd values"],
)
def test_no_seed_fails(run: Callable[[range], Summary], seeds: range) -> None:
    total = run(seeds)
    told = [f"seed {seed}: {why}\nsee it with: scripts/sim {seed}" for seed, why in total.failed]
    assert not told, "\n".join(told)
    assert total.seeds == len(seeds)


@pytest.mark.alone
@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_rare_ways_are_taken(run: Callable[[range], Summary]) -> None:
    total = run(SEEDS).plus(run(MORE_SEEDS))
    assert not total.failed, "the seeds were not run to the end"
    never = all_marks().keys() - total.marks.keys()
    assert never - NEEDS_MORE_SEEDS == set()


def test_the_readme_says_how_many() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    told = re.findall(r"scripts/test .* ([\d,]+) simulated clusters", readme)
    assert told == [f"{len(SEEDS):,}", f"{len(SEEDS) + len(MORE_SEEDS):,}"]


def test_what_needs_more_seeds_is_a_mark() -> None:
    assert all_marks().keys() >= NEEDS_MORE_SEEDS
