"""The order in which stages launch tasks: first in first out, or fair shares between pools."""

from __future__ import annotations

from bisect import insort
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar


@dataclass(frozen=True, slots=True)
class PoolShare:
    """What a pool is entitled to."""

    weight: int = 1
    min_share: int = 0
    fair: bool = False


class HasTasks(Protocol):
    """Something with tasks to launch."""

    @property
    def job(self) -> int: ...
    @property
    def stage(self) -> int: ...
    @property
    def pool(self) -> str: ...
    @property
    def running_count(self) -> int: ...


W = TypeVar("W", bound=HasTasks)


@dataclass(slots=True, eq=False)
class Load:
    """The number of tasks that a pool runs."""

    running: int = 0


class PoolQueue(Generic[W]):
    """A pool's stages that may have tasks to launch: earlier jobs, and earlier stages, first."""

    def __init__(self, name: str, share: PoolShare) -> None:
        self.name = name
        self.share = share
        self.load = Load()
        # Replaced, never mutated: the launcher iterates over it while stages come and go.
        self.waiting: list[W] = []

    def need(self) -> tuple[int, float, str]:
        """Returns the sort key of a pool: those below their minimum first, then by tasks per
        weight."""
        running = self.load.running
        if running < self.share.min_share:
            return 0, running / self.share.min_share, self.name
        return 1, running / self.share.weight, self.name

    def next(self, passed: Container[int]) -> W | None:
        able = (each for each in self.waiting if each.stage not in passed)
        if self.share.fair:
            return min(able, key=lambda each: each.running_count, default=None)
        return next(able, None)


class StageQueue(Generic[W]):
    """The stages that may have tasks to launch, by pool; first in first out uses a single pool.

    `add` enters a stage that got work; the launcher removes a stage that has none.
    """

    def __init__(self, fair: bool, shares: dict[str, PoolShare]) -> None:
        self.fair = fair
        self.shares = shares
        self.pools: dict[str, PoolQueue[W]] = {}

    def pool(self, name: str) -> PoolQueue[W]:
        name = name if self.fair else ""
        found = self.pools.get(name)
        if found is None:
            found = self.pools[name] = PoolQueue(name, self.shares.get(name, PoolShare()))
        return found

    def add(self, stage: W) -> None:
        pool = self.pool(stage.pool)
        if stage not in pool.waiting:
            pool.waiting = pool.waiting.copy()
            insort(pool.waiting, stage, key=_first_come)

    def remove(self, stage: W) -> None:
        pool = self.pool(stage.pool)
        pool.waiting = [each for each in pool.waiting if each is not stage]

    def sort(self, stage: W) -> None:
        """Restores the order after a stage's first job has ended."""
        pool = self.pool(stage.pool)
        pool.waiting = sorted(pool.waiting, key=_first_come)

    def everyone(self) -> Iterator[W]:
        for pool in self.pools.values():
            yield from pool.waiting

    def neediest(self, passed: Container[int]) -> W | None:
        """Returns the next stage under fair shares, without those in `passed`."""
        for pool in sorted(self.pools.values(), key=PoolQueue.need):
            found = pool.next(passed)
            if found is not None:
                return found
        return None


def _first_come(stage: HasTasks) -> tuple[int, int]:
    return stage.job, stage.stage
