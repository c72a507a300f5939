"""Whose turn it is: first in first out, or fair shares between pools."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar


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
    def running_count(self) -> int: ...


W = TypeVar("W", bound=Waiting)


def fifo(waiting: Iterable[W]) -> list[W]:
    """Earlier jobs first, earlier stages first within them."""
    return sorted(waiting, key=lambda each: (each.job, each.stage))


def fair(waiting: Iterable[W], shares: dict[str, PoolShare]) -> list[W]:
    """Pools below their minimum first, then those that have least for their weight."""
    pools: dict[str, list[W]] = {}
    for each in waiting:
        pools.setdefault(each.pool, []).append(each)

    def need(name: str) -> tuple[int, float, str]:
        share = shares.get(name, PoolShare())
        running = sum(each.running_count for each in pools[name])
        if running < share.min_share:
            return 0, running / share.min_share, name
        return 1, running / share.weight, name

    ordered: list[W] = []
    for name in sorted(pools, key=need):
        if shares.get(name, PoolShare()).fair:
            ordered += sorted(pools[name], key=lambda w: (w.running_count, w.job, w.stage))
        else:
            ordered += fifo(pools[name])
    return ordered
