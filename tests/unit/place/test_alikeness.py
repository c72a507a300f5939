"""Whether finished maps foretell the others better than a thin sample of all of them."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from pyrite.ids import NodeId
from pyrite.place.alikeness import observed_is_better
from pyrite.place.predict import Sample, SeenOutput, error_of, observe, sampled
from pyrite.place.sizes import encode

MAPS, REDUCERS, ROWS, ROW_BYTES = 60, 20, 2000, 50
# As thin as that of a sort: twenty rows a reducer of all maps together.
DRAWN = 20 * REDUCERS // MAPS

Maps = list[list[int]]


def mixed(die: Random) -> Maps:
    weights = [1 / (1 + each) ** 0.5 for each in range(REDUCERS)]
    return [die.choices(range(REDUCERS), weights, k=ROWS) for _ in range(MAPS)]


def in_order(die: Random) -> Maps:
    rows = sorted(row for part in mixed(die) for row in part)
    return [rows[at : at + ROWS] for at in range(0, len(rows), ROWS)]


def by_halves(die: Random) -> Maps:
    """The first maps are all alike, and the others are not like them."""
    low, high = range(REDUCERS // 2), range(REDUCERS // 2, REDUCERS)
    return [die.choices(low if n < MAPS // 2 else high, k=ROWS) for n in range(MAPS)]


def told(rows: list[int]) -> SeenOutput:
    counts = Counter(rows)
    return SeenOutput(NodeId("a"), encode([counts[n] * ROW_BYTES for n in range(REDUCERS)]))


def samples_of(maps: Maps, die: Random) -> list[Sample]:
    drawn = [Counter(die.sample(rows, DRAWN)) for rows in maps]
    return [Sample(ROWS, DRAWN, sorted(each.items())) for each in drawn]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("layout", "better"), [(mixed, True), (in_order, False), (by_halves, False)]
)
def test_the_better_prediction_is_chosen(layout, better: bool, seed: int) -> None:  # type: ignore[no-untyped-def]
    die = Random(seed)
    maps = layout(die)
    samples = samples_of(maps, die)
    seen = {number: told(maps[number]) for number in range(10)}
    assert observed_is_better(samples, seen, REDUCERS) is better
    true = [sum(rows.count(n) for rows in maps) * ROW_BYTES for n in range(REDUCERS)]
    by_maps = error_of([each.size_bytes for each in observe(seen, MAPS, REDUCERS)], true)
    by_sample = error_of([each.size_bytes for each in sampled(samples, seen, REDUCERS)], true)
    assert (by_maps.misplaced < by_sample.misplaced) is better


def test_maps_whose_rows_stay_together_are_asked_each() -> None:
    """All maps together are alike, but each has its own reducer, and so its own place."""
    die = Random(3)
    maps = [
        die.choices(
            range(REDUCERS), [20 if each == n % REDUCERS else 1 for each in range(REDUCERS)], k=ROWS
        )
        for n in range(MAPS)
    ]
    seen = {number: told(maps[number]) for number in range(MAPS - REDUCERS)}
    assert not observed_is_better(samples_of(maps, die), seen, REDUCERS)


def test_one_map_alone_foretells_nothing() -> None:
    die = Random(1)
    maps = mixed(die)
    assert not observed_is_better(samples_of(maps, die), {3: told(maps[3])}, REDUCERS)
    assert not observed_is_better([Sample(0, 0, ())] * 3, {}, REDUCERS)
