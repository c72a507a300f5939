"""Seeds of the played ring: every path linearizable, nothing lost, copies complete."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
from ring_mutations import RING_MUTATIONS, ring_bug
from ringtrial import RingTrial

SEEDS = range(150)
# Ten thousand take ten minutes: PYRITE_RING_SEEDS=10000 scripts/test tests/ring -m long
MORE_SEEDS = range(150, int(os.environ.get("PYRITE_RING_SEEDS", "600")))
CHUNK = 25


def failures(seeds: range, bug: str | None = None) -> list[str]:
    """What goes wrong with some seeds; with a bug, up to the first one."""
    told = []
    for seed in seeds:
        try:
            if bug is None:
                RingTrial(seed).run()
            else:
                with ring_bug(bug):
                    RingTrial(seed).run()
        except Exception as error:
            told.append(f"seed {seed}: {type(error).__name__}: {error}")
            if bug is not None:
                break
    return told


def all_failures(seeds: range) -> list[str]:
    chunks = [seeds[start : start + CHUNK] for start in range(0, len(seeds), CHUNK)]
    with ProcessPoolExecutor(os.cpu_count(), get_context("forkserver")) as pool:
        return [told for part in pool.map(failures, chunks) for told in part]


@pytest.mark.alone
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(
    "seeds", [SEEDS, pytest.param(MORE_SEEDS, marks=pytest.mark.long)], ids=["", "more"]
)
def test_no_ring_fails(seeds: range) -> None:
    assert all_failures(seeds) == []


def test_a_ring_plays_alike_from_one_seed() -> None:
    first, second = RingTrial(7), RingTrial(7)
    first.run()
    second.run()
    assert first.history == second.history
    assert first.faults == second.faults


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("bug", RING_MUTATIONS)
def test_a_bug_of_the_ring_is_found(bug: str) -> None:
    seeds = RING_MUTATIONS[bug].seeds
    assert failures(seeds, bug), f"{len(seeds)} seeds are right although {bug}"
