"""Spaces whose memory runs out at moments chosen by a seed."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import HealthCheck, settings

from pyrite.bounded.space import Space

LIMIT_BYTES = 4 << 20
# Each example has a seed, and they may share a folder: a space leaves nothing in it.
tight = settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


class Tide:
    """A measure of memory that is too high with some chance, and low again after that."""

    def __init__(self, seed: int, chance: float) -> None:
        self._random = Random(seed)
        self._chance = chance
        self._high = False

    def __call__(self) -> int:
        self._high = not self._high and self._random.random() < self._chance
        return LIMIT_BYTES + 1 if self._high else 0


class Level:
    """A measure of memory that the test sets."""

    now = 0

    def __call__(self) -> int:
        return self.now


def tight_space(folder: Path, seed: int = 0, chance: float = 0.5) -> Space:
    """A space that is over its limit with this chance whenever a task looks."""
    space = Space(LIMIT_BYTES, str(folder), measure=Tide(seed, chance))
    # Where the tide was high at the start, this brings it down.
    space.relieved()
    space.stride_rows = 1
    return space


def ample_space(folder: Path) -> Space:
    """A space that never runs out."""
    return Space(1 << 60, str(folder))


def short_halfway(level: Level, rows: list[Any]) -> Iterator[Any]:
    """The rows; memory runs out after half of them."""
    yield from rows[: len(rows) // 2]
    level.now = LIMIT_BYTES + 1
    yield from rows[len(rows) // 2 :]
