"""A reservoir sample of a partition, and how it falls to reducers (SCache, 4.1.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

from pyrite.place.predict import Sample
from pyrite.rdd.partitioner import Partitioner
from pyrite.rdd.sampling import partition_random

SEED = 1


def draw_rows(wanted: int, index: int, rows: Iterator[Any]) -> tuple[list[Any], int]:
    """So many rows of a partition, each as likely as any other, and how many it has in all."""
    source = partition_random(SEED, index)
    chosen = list(islice(rows, wanted))
    count = len(chosen)
    for row in rows:
        count += 1
        place = int(source.random() * count)
        if place < wanted:
            chosen[place] = row
    return chosen, count


def sample_parts(
    wanted: int, partitioner: Partitioner, index: int, rows: Iterator[Any]
) -> Sample | None:
    """How many rows a partition has, and to which reducers some of them go; None where the user's
    function can't tell: the task that deals out the row fails by it, and says so better."""
    chosen, count = draw_rows(wanted, index, rows)
    try:
        places = Counter(partitioner(row[0]) for row in chosen)
    except Exception:
        return None
    return Sample(count, len(chosen), tuple(sorted(places.items())))
