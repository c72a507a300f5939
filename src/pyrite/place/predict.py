"""How large each reducer's input will be, told before all maps are done (SCache, 3.2.2). Pure.

By observation where keys are hashed: each map output falls to the reducers like any other. By
samples where rows go to ranges of keys, since there the first map outputs say little of the others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import ceil
from typing import NamedTuple

from pyrite.ids import NodeId
from pyrite.place.reducers import NOWHERE, Reducer
from pyrite.place.sizes import add_up

# Above so many pairs of nodes and reducers nobody is told which node holds what: on so many nodes
# no reducer's input lies mostly on one, and the pairs would cost more time than locality saves.
MOST_HOLDINGS = 2_000_000


class SeenOutput(NamedTuple):
    """A map output: where it lies, and the code of its parts' sizes."""

    node: NodeId
    code: bytes


class Sample(NamedTuple):
    """What was drawn from one map partition, as (reducer, rows) for each reducer that has some.

    The weight is the partition's rows; fewer are drawn than were wanted where it has no more.
    """

    weight: int
    drawn: int
    parts: Sequence[tuple[int, int]]


class PredictionError(NamedTuple):
    """How far a prediction was off, as parts of the truth: 0.1 is ten percent.

    The mean is over the reducers that have input; misplaced are the bytes that were predicted for
    the wrong reducer or for none; the total and the heaviest are signed, above zero if
    overestimated.
    """

    mean: float
    misplaced: float
    total: float
    heaviest: float


def is_enough(seen: int, maps: int, share: float) -> bool:
    """Whether so many map outputs are enough to predict the others."""
    # Less a little: 100 * 0.07 is more than 7 in floats.
    return seen >= max(1, ceil(maps * share - 1e-9))


def observe(outputs: Collection[SeenOutput], maps: int, reducers: int) -> list[Reducer]:
    """What reducers will read, by the map outputs seen so far.

    Sizes are scaled to all maps. What nodes hold is not: where the other maps will run is unknown,
    and after few of them the scaled shares would be chance.
    """
    held, seen_bytes = _gather(outputs, reducers)
    count = max(1, len(outputs))
    return [
        Reducer(size * maps // count, on_nodes)
        for size, on_nodes in zip(seen_bytes, held, strict=True)
    ]


def sampled(
    samples: Sequence[Sample], outputs: Mapping[int, SeenOutput], reducers: int
) -> list[Reducer]:
    """What reducers will read, by samples of all map partitions and by the outputs of some.

    Maps that are done count as they are, and the others by their samples: in bytes, as many a row
    as those have that are done. Before any is done, sizes are in rows: shares are right all the
    same. As with observation, only what is there counts as held.
    """
    held, seen_bytes = _gather(outputs.values(), reducers)
    rows = sum(samples[number].weight for number in outputs)
    row_bytes = sum(seen_bytes) / rows if rows and any(seen_bytes) else 1.0
    expected = _fall([each for map, each in enumerate(samples) if map not in outputs], reducers)
    return [
        Reducer(size + round(row_bytes * more), on_nodes)
        for size, more, on_nodes in zip(seen_bytes, expected, held, strict=True)
    ]


def error_of(predicted: Sequence[int], true: Sequence[int]) -> PredictionError:
    """How far a prediction was off; all zero where there was nothing to predict."""
    total = sum(true)
    if not total:
        return PredictionError(0.0, 0.0, 0.0, 0.0)
    errors = [abs(guess - size) for guess, size in zip(predicted, true, strict=True)]
    relative = [error / size for error, size in zip(errors, true, strict=True) if size]
    heaviest = max(range(len(true)), key=true.__getitem__)
    return PredictionError(
        mean=sum(relative) / len(relative),
        misplaced=sum(errors) / total,
        total=sum(predicted) / total - 1,
        heaviest=predicted[heaviest] / true[heaviest] - 1,
    )


def _gather(
    outputs: Iterable[SeenOutput], reducers: int
) -> tuple[list[Mapping[NodeId, int]], list[int]]:
    """Of each reducer's input, what lies on which node, and what there is in all."""
    by_node: dict[NodeId, list[bytes]] = {}
    for output in outputs:
        by_node.setdefault(output.node, []).append(output.code)
    if not by_node or len(by_node) * reducers > MOST_HOLDINGS:
        codes = [code for on_node in by_node.values() for code in on_node]
        return [NOWHERE] * reducers, add_up(codes, reducers)
    columns = list(zip(*(add_up(codes, reducers) for codes in by_node.values()), strict=True))
    nodes = list(by_node)
    return [dict(zip(nodes, column, strict=True)) for column in columns], list(map(sum, columns))


def _fall(samples: Sequence[Sample], reducers: int) -> list[float]:
    """The rows that fall to each reducer, by equation 1.

    Rows of partitions of which nothing was drawn fall like those of the others: the paper draws as
    many of each partition, but who samples all rows alike may miss a small one.
    """
    rows = [0.0] * reducers
    drawn_weight = 0
    for weight, drawn, parts in samples:
        if not drawn:
            continue
        drawn_weight += weight
        each = weight / drawn
        for reducer, count in parts:
            if not 0 <= reducer < reducers:
                raise ValueError(f"a sample has rows for reducer {reducer} of {reducers}")
            rows[reducer] += each * count
    weight = sum(sample.weight for sample in samples)
    if not drawn_weight:
        return [weight / reducers] * reducers
    return [size * weight / drawn_weight for size in rows]
