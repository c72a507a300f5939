"""A reservoir sample of a partition, and how it falls to reducers (SCache, 4.1.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, TypeVar

from pyrite.place.predict import Sample
from pyrite.rdd.partitioner import Partitioner
from pyrite.rdd.sampling import partition_random

SEED = 1
T = TypeVar("T")


class NoSample(Exception):
    """The user's function can't tell where a row goes."""


def draw(
    wanted: int, index: int, rows: Iterator[Any], look: Callable[[Any], T]
) -> tuple[list[T], int]:
    """What so many rows of a partition look like, each as likely as any other, and how many rows
    it has in all."""
    source = partition_random(SEED, index)
    chosen = list(map(look, islice(rows, wanted)))
    count = len(chosen)
    for row in rows:
        count += 1
        place = int(source.random() * count)
        if place < wanted:
            chosen[place] = look(row)
    return chosen, count


def sample_parts(
    wanted: int, partitioner: Partitioner, index: int, rows: Iterator[Any]
) -> Sample | None:
    """How many rows a partition has, and to which reducers some of them go; None where the user's
    function can't tell: the task that deals out the row fails by it, and says so better."""

    def part_of(row: Any) -> int:
        try:
            return partitioner(row[0])
        except Exception as error:
            raise NoSample from error

    try:
        # Only where they go is held: the rows may be large.
        places, count = draw(wanted, index, rows, part_of)
    except NoSample:
        return None
    return Sample(count, len(places), tuple(sorted(Counter(places).items())))
