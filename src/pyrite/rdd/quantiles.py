"""A sample of keys that tells where to cut an RDD into ranges, and how its partitions fall to
them."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from typing import Any, NamedTuple

from pyrite.machine.records import RecordRows
from pyrite.place.predict import Sample
from pyrite.rdd.sampling import partition_random

# PySpark samples with this seed; with it and the same draws the ranges are the same too.
SEED = 1
FEWEST_ROWS = 1024
# The ranges are cut so that each has as many of the wanted keys: only further ones can tell how
# their sizes differ. With five times as many a size is off by a tenth or so.
DEALT_PER_WANTED = 5


class DrawnKeys(NamedTuple):
    """How many rows a partition has, and keys of it with the number that each row drew."""

    rows: int
    keys: list[tuple[float, Any]]


def draw_keys(
    wanted: float,
    fraction: float,
    key: Callable[[Any], Any],
    index: int,
    rows: Iterator[Any],
) -> DrawnKeys:
    """The keys that a sample of `wanted` rows of all partitions may hold, and some more.

    A row is in the sample if it draws less than wanted / (rows of all partitions). That is not
    known yet, but it is at most wanted / (rows seen here), and at most `fraction`.
    """
    draw = partition_random(SEED, index).random
    keys: list[tuple[float, Any]] = []
    seen = 0
    if isinstance(rows, RecordRows):
        # Only those that are drawn are cut from their block.
        for block in rows.blocks(FEWEST_ROWS * rows.size):
            limit = min(fraction, wanted / max(seen, 1))
            drawn_records = _drawn_records(block, rows.size, draw, limit)
            keys += [(drawn, key(record)) for drawn, record in drawn_records]
            seen += len(block) // rows.size
        return DrawnKeys(seen, keys)
    while True:
        limit = min(fraction, wanted / max(seen, 1))
        counter = count()
        numbered = zip(islice(rows, max(FEWEST_ROWS, seen // 8)), counter, strict=False)
        keys += [(drawn, key(row)) for row, _ in numbered if (drawn := draw()) < limit]
        number = next(counter)
        if number == 0:
            return DrawnKeys(seen, keys)
        seen += number


def _drawn_records(
    block: bytes, size: int, draw: Callable[[], float], limit: float
) -> list[tuple[float, bytes]]:
    return [
        (drawn, block[start : start + size])
        for start in range(0, len(block), size)
        if (drawn := draw()) < limit
    ]


def choose_keys(parts: Sequence[DrawnKeys], wanted: float) -> list[Any]:
    """The keys of the rows that are in the sample; none only where there are no rows."""
    limit = min(wanted / max(sum(part.rows for part in parts), 1), 1.0)
    chosen = [key for part in parts for drawn, key in part.keys if drawn < limit]
    return chosen or [key for part in parts for _, key in part.keys]


def deal_samples(
    parts: Sequence[DrawnKeys], wanted: float, bounds: list[Any], ascending: bool
) -> tuple[Sample, ...] | None:
    """How the drawn keys of each partition fall to the ranges; None if they can't be compared.

    The rows of a partition are all as likely to be among them: `draw_keys` keeps each that drew
    less than wanted / (rows of the partition) and than its fraction. Those of different partitions
    are not, so a sample has the weight of its partition.
    """
    most = DEALT_PER_WANTED * wanted / max(sum(part.rows for part in parts), 1)
    last = len(bounds)
    samples = []
    for rows, keys in parts:
        limit = min(most, wanted / max(rows, 1))
        try:
            places = [bisect_left(bounds, key) for drawn, key in keys if drawn < limit]
        except Exception:
            # The task that deals out the row fails by it, and says so better.
            return None
        if not ascending:
            places = [last - place for place in places]
        samples.append(Sample(rows, len(places), tuple(sorted(Counter(places).items()))))
    return tuple(samples)
