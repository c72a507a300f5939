"""The candidate machines of a stage: those with whole waves of tasks, or with enough memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import ceil

from pyrite.rent.completion import Hire, Instance, StageLoad

# The machines of several stages, in their order, and a restriction on them.
Machines = tuple[Hire, ...]
Allowed = Callable[[Machines], bool]

# Up to so many machines every count is a candidate; above, counts that differ by this factor.
FEW = 8
STEP = 1.08
# The fractions of the missing memory that storage-only nodes are tried for.
STORAGE_PARTS = (1.0, 0.75, 0.5, 0.25, 0.0)


def hires_for(load: StageLoad, instances: Sequence[Instance], most_machines: int) -> Iterator[Hire]:
    """Candidates: executors of one type, alone and with storage-only nodes of one type."""
    storages = [each for each in instances if each.stores]
    for executor in instances:
        if not executor.executes:
            continue
        for count in executor_counts(load, executor, most_machines):
            yield Hire(executor, count)
            missing = load.pooled_bytes - executor.pool_bytes * count
            for storage in storages:
                for lent in storage_counts(missing, storage, most_machines - count):
                    yield Hire(executor, count, storage, lent)


def executor_counts(load: StageLoad, executor: Instance, most: int) -> list[int]:
    """The fewest machines for each number of waves, and those whose memory holds everything."""
    tasks = max(1, len(load.tasks))
    enough = ceil(tasks / executor.cores)
    waves = {ceil(enough / number) for number in range(1, enough + 1)}
    fitting = {
        ceil(needed / each)
        for needed, each in (
            (load.pooled_bytes, executor.pool_bytes),
            (load.live_bytes, executor.live_bytes),
        )
        if needed and each
    }
    found = {1, *range(1, min(FEW, enough) + 1), *waves, *fitting}
    found |= {ceil(each / 2) for each in fitting}
    return thinned(sorted({max(1, min(each, most)) for each in found}))


def storage_counts(missing_bytes: float, storage: Instance, most: int) -> list[int]:
    """Counts of storage-only nodes for all, or a part, of the missing bytes."""
    if missing_bytes <= 0 or most < 1 or not storage.storage_bytes:
        return []
    enough = missing_bytes / storage.storage_bytes
    return sorted({max(1, min(most, ceil(enough * part))) for part in STORAGE_PARTS})


def thinned(counts: Sequence[int]) -> list[int]:
    """Drops counts that hardly differ from the one before; keeps the last.

    >>> thinned([1, 2, 100, 101, 102, 150])
    [1, 2, 100, 150]
    """
    kept: list[int] = []
    for each in counts:
        if not kept or each <= FEW or each >= kept[-1] * STEP or each == counts[-1]:
            kept.append(each)
    return kept


# Restrictions


def anything(hires: Machines) -> bool:
    return True


def executors_only(hires: Machines) -> bool:
    return not any(hire.storages for hire in hires)


def only_type(instance: Instance, hires: Machines) -> bool:
    return all(hire.executor is instance for hire in hires)


def only_executors_of(instance: Instance, hires: Machines) -> bool:
    return only_type(instance, hires) and executors_only(hires)


def same_throughout(hires: Machines) -> bool:
    return all(hire == hires[0] for hire in hires)
