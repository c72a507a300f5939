"""What fetching ahead gains where pools are small, by cost: less, but never less than nothing."""

from __future__ import annotations

from functools import cache

import pytest

from pyrite.forecast.costs import CostModel, NodeKind
from pyrite.forecast.play import simulate
from pyrite.forecast.workload import two_stages, uneven
from pyrite.schedule.rules import Rules
from pyrite.schedule.scheduler import Scheduler

NODES, CORES, ROUNDS = 6, 2, 5
TASKS = NODES * CORES * ROUNDS
SHUFFLE_BYTES = 12e9
NETWORK = 300e6 / 8
NETWORK_S = SHUFFLE_BYTES / NODES / NETWORK
# The maps take a quarter longer than the network needs for all of the shuffle.
USUAL = 1.25


@cache
def times(
    pool_over_shuffle: float,
    prefetch: bool,
    disk: float = 750e6 / 8,
    map_over_network: float = USUAL,
) -> tuple[float, float]:
    """The seconds of the whole job, and of its reduce stage."""
    memory = 8 << 30
    kind = NodeKind(
        CORES,
        memory_bytes=memory,
        network_bytes_per_s=NETWORK,
        disk_write_bytes_per_s=disk,
        disk_read_bytes_per_s=disk,
        pool_share=pool_over_shuffle * SHUFFLE_BYTES / NODES / memory,
    )
    reduce_s = [SHUFFLE_BYTES / TASKS / 1000 * 0.5e-6] * TASKS
    map_s = map_over_network * NETWORK_S / ROUNDS
    work = two_stages(uneven(TASKS, map_s, 0.2, 5), reduce_s, SHUFFLE_BYTES / TASKS)
    small = {} if prefetch else {"small_shuffle_bytes": 1 << 62}
    rules = Rules(prefetch=prefetch, **small)
    outcome = simulate(work, [kind] * NODES, CostModel(), scheduler=Scheduler(rules))
    assert not outcome.errors
    stages = outcome.tally.stages
    return stages[1].ended_s, stages[1].ended_s - stages[0].ended_s


def cut(pool_over_shuffle: float) -> float:
    pulled, fetched = times(pool_over_shuffle, False)[1], times(pool_over_shuffle, True)[1]
    return 1 - fetched / pulled


def test_a_pool_of_one_and_a_quarter_shuffles_is_as_good_as_a_large_one() -> None:
    assert cut(1.25) > 0.9 * cut(3.0) > 0.5


def test_a_pool_smaller_than_the_shuffle_brings_half_of_the_gain() -> None:
    assert cut(0.6) > 0.5 * cut(3.0)


@pytest.mark.parametrize("pool_over_shuffle", [0.1, 0.3, 0.6, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("disk", [30e6, 750e6 / 8, 1e9])
def test_no_pool_makes_it_slower_than_pulling(pool_over_shuffle: float, disk: float) -> None:
    fetched, pulled = times(pool_over_shuffle, True, disk), times(pool_over_shuffle, False, disk)
    assert fetched[0] <= 1.01 * pulled[0]


@pytest.mark.parametrize("pool_over_shuffle", [1.03, 1.07, 1.3])
@pytest.mark.parametrize("map_over_network", [0.5, 2.0])
@pytest.mark.parametrize("disk", [10e6, 30e6])
def test_nothing_waits_for_a_disk_slower_than_the_network(
    pool_over_shuffle: float, map_over_network: float, disk: float
) -> None:
    """What is fetched does not take the room of outputs that the disk can't take in time."""
    fetched = times(pool_over_shuffle, True, disk, map_over_network)
    pulled = times(pool_over_shuffle, False, disk, map_over_network)
    assert fetched[0] <= 1.01 * pulled[0]
