"""How far predictions of reducers' sizes are off: by observation and by samples (SCache, figure 7).

Real keys, dealt out by the engine's own partitioners; which maps end first is drawn by the dice.
"""

from bisect import bisect
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random

from pyrite.forecast.workload import uneven, zipf_shares
from pyrite.hashing import portable_hash
from pyrite.ids import NodeId
from pyrite.place.predict import (
    PredictionError,
    Sample,
    SeenOutput,
    error_of,
    observe,
    sampled,
)
from pyrite.place.sizes import encode
from pyrite.rdd.ordering import SAMPLE_PER_PARTITION
from pyrite.rdd.partitioner import Partitioner, RangeFunc, range_bounds
from pyrite.rdd.quantiles import choose_keys, deal_samples, draw_keys

MAPS = 200
REDUCERS = 100
ROWS_PER_MAP = {"small": 1000, "standard": 4000}
ROW_BYTES = 100
DISTINCT = 50_000
ZIPF = 1.0
UNEVEN = 0.3
SEED = 7

SHARES = (0.02, 0.05, 0.1, 0.25, 0.5)
SAMPLES_PER_REDUCER = (1, 3, 10)

Keys = list[list[int]]


@dataclass(frozen=True)
class Case:
    """One way in which rows lie in map partitions and fall to reducers."""

    keys: str
    routing: str
    order: str

    def __str__(self) -> str:
        return f"{self.keys} keys, {self.routing}, {self.order} input"


CASES = [
    Case(keys, routing, order)
    for routing in ("hash", "range")
    for keys in ("uniform", "Zipf")
    for order in ("mixed", "sorted")
]


@dataclass(frozen=True)
class Errors:
    """How far each prediction was off: by the share of maps seen, by samples a reducer and map,
    and by the sample that a sort cuts its ranges by, which costs nothing more."""

    case: Case
    observed: dict[float, PredictionError]
    sampled: dict[int, PredictionError]
    by_sort: PredictionError | None


def keys_of(case: Case, rows_per_map: int, dice: Random) -> Keys:
    """The keys of every map partition; partitions are not of one size."""
    sizes = [max(1, round(each)) for each in uneven(MAPS, rows_per_map, UNEVEN, SEED)]
    if case.keys == "uniform":
        keys = [dice.randrange(DISTINCT) for _ in range(sum(sizes))]
    else:
        ranks = list(range(DISTINCT))
        # Which keys are frequent has nothing to do with their order.
        dice.shuffle(ranks)
        weights = list(accumulate(zipf_shares(DISTINCT, ZIPF)))
        draws = (min(bisect(weights, dice.random()), DISTINCT - 1) for _ in range(sum(sizes)))
        keys = [ranks[each] for each in draws]
    if case.order == "sorted":
        keys.sort()
    ends = list(accumulate(sizes))
    return [keys[end - size : end] for end, size in zip(ends, sizes, strict=True)]


def cut_ranges(maps: Keys) -> tuple[list[int], Sequence[Sample]]:
    """A sort's bounds, and what it knows of each partition from the sample for these."""
    wanted = REDUCERS * SAMPLE_PER_PARTITION
    fraction = min(1.0, wanted / sum(map(len, maps)))
    drawn = [
        draw_keys(wanted, fraction, int, index, iter(partition))
        for index, partition in enumerate(maps)
    ]
    bounds = range_bounds(sorted(choose_keys(drawn, wanted)), REDUCERS)
    return bounds, deal_samples(drawn, wanted, bounds, True) or ()


def errors_of(case: Case, rows_per_map: int) -> Errors:
    """All predictions for one case."""
    dice = Random(SEED)
    maps = keys_of(case, rows_per_map, dice)
    route, own = Partitioner(REDUCERS, portable_hash), None
    if case.routing == "range":
        bounds, own = cut_ranges(maps)
        route = Partitioner(REDUCERS, RangeFunc(bounds, None, True))
    fallen = [Counter(map(route, partition)) for partition in maps]
    true = [sum(each[part] for each in fallen) * ROW_BYTES for part in range(REDUCERS)]
    ended = dice.sample(range(MAPS), MAPS)
    return Errors(
        case,
        {share: error_of(observed(fallen, ended, share), true) for share in SHARES},
        {
            per_reducer: error_of(sized(draw(maps, route, per_reducer, dice)), true)
            for per_reducer in SAMPLES_PER_REDUCER
        },
        None if own is None else error_of(sized(own), true),
    )


def outputs_of(fallen: Sequence[Counter[int]], seen: Sequence[int]) -> dict[int, SeenOutput]:
    """What these maps have told."""
    return {
        each: SeenOutput(
            NodeId(""), encode([fallen[each][part] * ROW_BYTES for part in range(REDUCERS)])
        )
        for each in seen
    }


def observed(fallen: Sequence[Counter[int]], ended: Sequence[int], share: float) -> list[int]:
    """The prediction once a share of the maps has told the sizes of its outputs, a byte each."""
    seen = ended[: max(1, round(share * MAPS))]
    outputs = outputs_of(fallen, seen)
    return [each.size_bytes for each in observe(outputs, MAPS, REDUCERS)]


def draw(maps: Keys, route: Callable[[int], int], per_reducer: int, dice: Random) -> list[Sample]:
    """So many rows for each reducer of every map partition, as they fall to the reducers."""
    samples = []
    for partition in maps:
        drawn = dice.sample(partition, min(len(partition), per_reducer * REDUCERS))
        parts = Counter(map(route, drawn))
        samples.append(Sample(len(partition), len(drawn), sorted(parts.items())))
    return samples


def sized(samples: Sequence[Sample]) -> list[int]:
    """The prediction by samples (equation 1), in bytes."""
    return [each.size_bytes * ROW_BYTES for each in sampled(samples, {}, REDUCERS)]
