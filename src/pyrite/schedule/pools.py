"""Whose turn it is: first in first out, or fair shares between pools."""

from __future__ import annotations

from bisect import insort
from collections.abc import Container
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar


@dataclass(frozen=True, slots=True)
class PoolShare:
    """What a pool is entitled to."""

    weight: int = 1
    min_share: int = 0
    fair: bool = False


class Waiting(Protocol):
    """Something with tasks to launch."""

    @property
    def job(self) -> int: ...
    @property
    def stage(self) -> int: ...
    @property
    def pool(self) -> str: ...
    @property
    def has_work(self) -> bool: ...
    @property
    def running_count(self) -> int: ...


W = TypeVar("W", bound=Waiting)


class Turns(Generic[W]):
    """The stages that may have tasks to launch: earlier jobs first, earlier stages within them.

    Who got work enters by `add`; who is found without any is removed.
    """

    def __init__(self, shares: dict[str, PoolShare]) -> None:
        self.shares = shares
        self.waiting: list[W] = []

    def add(self, stage: W) -> None:
        if stage not in self.waiting:
            insort(self.waiting, stage, key=_first_come)

    def remove(self, stage: W) -> None:
        if stage in self.waiting:
            self.waiting.remove(stage)

    def sort(self) -> None:
        """The first of the jobs that share a stage has ended."""
        self.waiting.sort(key=_first_come)

    def neediest(self, passed: Container[int]) -> W | None:
        """The next under fair shares; those that were passed over have had their turn.

        Pools below their minimum come first, then those that have least for their weight.
        """
        pools: dict[str, list[W]] = {}
        for each in self.waiting:
            if each.stage not in passed and each.has_work:
                pools.setdefault(each.pool, []).append(each)
        if not pools:
            return None
        name = min(pools, key=lambda name: self._need(name, pools[name]))
        if self.shares.get(name, PoolShare()).fair:
            return min(pools[name], key=lambda each: each.running_count)
        return pools[name][0]

    def _need(self, name: str, stages: list[W]) -> tuple[int, float, str]:
        share = self.shares.get(name, PoolShare())
        running = sum([each.running_count for each in stages])
        if running < share.min_share:
            return 0, running / share.min_share, name
        return 1, running / share.weight, name


def _first_come(stage: Waiting) -> tuple[int, int]:
    return stage.job, stage.stage
