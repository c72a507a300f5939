"""Dynamic allocation for random cases: settings under which nodes come and go, and worlds in which
they come late or never."""

from __future__ import annotations

from random import Random

from pyrite.cluster.sim.world import World

# The share of seeds whose clusters grow and shrink.
SHARE = 0.3
PREFIX = "spark.dynamicAllocation."


def is_allocated(seed: int) -> bool:
    return Random(f"allocation {seed}").random() < SHARE


def settings_of_allocation(seed: int, world: World, slots: int) -> dict[str, str]:
    """With dice of their own, so that what else a seed draws stays."""
    if not is_allocated(seed):
        return {}
    dice = Random(f"allocated {seed}")
    # A barrier needs all of its tasks at once.
    most = max(world.executors, slots) + dice.choice((0, 1, 1, 2, 5))
    least = dice.randint(0, min(2, most))
    return {
        f"{PREFIX}enabled": "true",
        f"{PREFIX}minExecutors": str(least),
        f"{PREFIX}maxExecutors": str(most),
        f"{PREFIX}initialExecutors": str(dice.randint(0, most)),
        f"{PREFIX}schedulerBacklogTimeout": dice.choice(("1ms", "10ms", "100ms")),
        f"{PREFIX}sustainedSchedulerBacklogTimeout": dice.choice(("1ms", "20ms", "100ms")),
        f"{PREFIX}executorIdleTimeout": dice.choice(("1ms", "20ms", "100ms", "1s")),
        f"{PREFIX}cachedExecutorIdleTimeout": dice.choice(("5ms", "200ms", "5s")),
        f"{PREFIX}executorAllocationRatio": dice.choice(("1", "1", "0.5")),
    }


def with_late_nodes(world: World) -> World:
    """The same cluster, in which further nodes take their time, or never come."""
    if not is_allocated(world.seed):
        return world
    dice = Random(f"late {world.seed}")
    return world._replace(
        join_s=dice.choice((0.001, 0.02, 0.5)), absent_nodes=dice.choice((0.0, 0.3, 0.7))
    )
