"""Reads the settings of dynamic allocation."""

from __future__ import annotations

from math import ceil, inf

from pyrite.driver.start.master import Master
from pyrite.schedule.rules import AllocationRule
from pyrite.settings import Settings

PREFIX = "spark.dynamicAllocation."
# Spark's default for what has no limit.
UNLIMITED = 2**31 - 1


def allocation_rule(master: Master, settings: Settings) -> AllocationRule | None:
    """How executors come and go; None where they do not, or there is one node only."""
    is_many = master.world is not None or master.is_served
    if not settings.bool(f"{PREFIX}enabled") or not is_many:
        return None
    size = master.executors // master.nodes if master.memory_bytes is not None else 1
    least = settings.int(f"{PREFIX}minExecutors")
    most = most_executors(master, settings)
    check_bounds(least, most, size, settings)
    cached_idle_s = settings.seconds(f"{PREFIX}cachedExecutorIdleTimeout")
    started = settings.int("spark.executor.instances")
    return AllocationRule(
        least,
        most,
        max(least, settings.int(f"{PREFIX}initialExecutors"), started),
        settings.seconds(f"{PREFIX}schedulerBacklogTimeout"),
        settings.seconds(f"{PREFIX}sustainedSchedulerBacklogTimeout"),
        settings.seconds(f"{PREFIX}executorIdleTimeout"),
        inf if cached_idle_s >= UNLIMITED else cached_idle_s,
        settings.float(f"{PREFIX}executorAllocationRatio"),
        size,
    )


def most_executors(master: Master, settings: Settings) -> int:
    """The limit; on this machine, unless it is given, what the master says."""
    name = f"{PREFIX}maxExecutors"
    if master.memory_bytes is not None and name not in settings.given():
        return master.executors
    return settings.int(name)


def check_bounds(least: int, most: int, size: int, settings: Settings) -> None:
    """Refuses settings that Spark refuses, and a limit within which no node fits."""
    if least < 0:
        settings.refuse(f"{PREFIX}minExecutors", "expected 0 or more")
    if most < max(1, least):
        problem = f"expected {max(1, least)} at least, and spark.dynamicAllocation.minExecutors"
        settings.refuse(f"{PREFIX}maxExecutors", problem)
    if most < size:
        problem = f"expected {size} at least: a node of this master comes with so many executors"
        settings.refuse(f"{PREFIX}maxExecutors", problem)
    if not 0 < settings.float(f"{PREFIX}executorAllocationRatio") <= 1:
        settings.refuse(f"{PREFIX}executorAllocationRatio", "expected more than 0, and 1 at most")
    for name in ("schedulerBacklogTimeout", "sustainedSchedulerBacklogTimeout"):
        if settings.seconds(PREFIX + name) <= 0:
            settings.refuse(PREFIX + name, "expected more than 0, such as 1s")


def first_nodes(master: Master, rule: AllocationRule | None) -> int:
    """How many nodes of a local cluster are started at once."""
    if rule is None:
        return master.nodes
    wanted = ceil(min(rule.initial, rule.most) / rule.node_executors)
    return min(wanted, rule.most // rule.node_executors)
