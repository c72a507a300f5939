"""Predicts the size of each reducer's input before all maps are done (SCache, 3.2.2). Pure.

By observation where keys are hashed: there, all map outputs have a similar distribution. By samples
where rows go to ranges of keys: there, the first map outputs say little about the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import NamedTuple

from pyrite.ids import NodeId
from pyrite.place.reducers import NOWHERE, Reducer
from pyrite.place.sizes import add_up

# With more pairs of nodes and reducers, the result omits which node holds what: on so many nodes no
# reducer's input lies mostly on one, and the pairs would cost more time than locality saves.
MOST_HOLDINGS = 2_000_000
NO_PLACES: Mapping[int, NodeId] = {}


class SeenOutput(NamedTuple):
    """A map output: its node, and the encoded sizes of its parts."""

    node: NodeId
    code: bytes


class Sample(NamedTuple):
    """A sample of one map partition: (reducer, rows) for each reducer that has some.

    The weight is the partition's row count; small partitions yield fewer rows than were wanted.
    """

    weight: int
    drawn: int
    parts: Sequence[tuple[int, int]]


class PredictionError(NamedTuple):
    """The error of a prediction, as fractions of the truth: 0.1 is ten percent.

    The mean is over the reducers that have input; misplaced are the bytes that were predicted for
    the wrong reducer or for none; the total and the heaviest are signed, above zero if
    overestimated.
    """

    mean: float
    misplaced: float
    total: float
    heaviest: float


def is_enough(seen: int, maps: int, share: float) -> bool:
    """Whether `seen` map outputs are enough to predict the others."""
    # Minus an epsilon: 100 * 0.07 is more than 7 in floats.
    return seen >= max(1, ceil(maps * share - 1e-9))


def observe(
    outputs: Mapping[int, SeenOutput],
    maps: int,
    reducers: int,
    weights: Sequence[float] | None = None,
) -> list[Reducer]:
    """Predicts what reducers will read from the map outputs seen so far.

    Sizes are scaled to all maps, by their weights (the sizes of their input) where these are known.
    Bytes held by nodes are not: where keys are hashed, no node holds much more of a reducer's input
    than others, and shares scaled from few maps would be random.
    """
    held, seen_bytes = _gather(outputs.values(), reducers)
    whole, seen = float(maps), float(len(outputs))
    if weights is not None and (known := sum(weights[number] for number in outputs)) > 0:
        whole, seen = float(sum(weights)), float(known)
    return [
        Reducer(round(size * whole / max(seen, 1e-9)) if size else 0, on_nodes)
        for size, on_nodes in zip(seen_bytes, held, strict=True)
    ]


def sampled(
    samples: Sequence[Sample],
    outputs: Mapping[int, SeenOutput],
    reducers: int,
    places: Mapping[int, NodeId] = NO_PLACES,
) -> list[Reducer]:
    """Predicts what reducers will read from samples of all map partitions and the outputs of some.

    Finished maps count with their true sizes, the others by their samples, at the finished maps'
    bytes per row. Before any map is finished, sizes are in rows: their shares are still right. A
    map that is not finished counts as held by the node in `places`, where it runs or is to run.
    """
    held, seen_bytes = _gather(outputs.values(), reducers)
    rows = sum(samples[number].weight for number in outputs)
    row_bytes = sum(seen_bytes) / rows if rows and any(seen_bytes) else 1.0
    left = {number: each for number, each in enumerate(samples) if number not in outputs}
    expected = _rows_by_reducer(list(left.values()), reducers)
    nodes = {places[number] for number in left if number in places}
    if nodes and len(nodes | {each.node for each in outputs.values()}) * reducers <= MOST_HOLDINGS:
        held = _with_expected(held, left, places, row_bytes)
    return [
        Reducer(size + round(row_bytes * more), on_nodes)
        for size, more, on_nodes in zip(seen_bytes, expected, held, strict=True)
    ]


def _with_expected(
    held: Sequence[Mapping[NodeId, int]],
    samples: Mapping[int, Sample],
    places: Mapping[int, NodeId],
    row_bytes: float,
) -> list[Mapping[NodeId, int]]:
    """Adds what maps will write on the nodes where they run."""
    found = [dict(each) for each in held]
    for number, (weight, drawn, parts) in samples.items():
        node = places.get(number)
        if node is not None and drawn:
            each_bytes = weight / drawn * row_bytes
            for reducer, count in parts:
                on_nodes = found[reducer]
                on_nodes[node] = on_nodes.get(node, 0) + round(each_bytes * count)
    return list(found)


def error_of(predicted: Sequence[int], true: Sequence[int]) -> PredictionError:
    """Returns the error of a prediction; all zero where there was nothing to predict."""
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
    """Returns each reducer's input bytes by node, and in total."""
    by_node: dict[NodeId, list[bytes]] = {}
    for output in outputs:
        by_node.setdefault(output.node, []).append(output.code)
    if not by_node or len(by_node) * reducers > MOST_HOLDINGS:
        codes = [code for on_node in by_node.values() for code in on_node]
        return [NOWHERE] * reducers, add_up(codes, reducers)
    columns = list(zip(*(add_up(codes, reducers) for codes in by_node.values()), strict=True))
    nodes = list(by_node)
    return [dict(zip(nodes, column, strict=True)) for column in columns], list(map(sum, columns))


def _rows_by_reducer(samples: Sequence[Sample], reducers: int) -> list[float]:
    """Estimates the rows of each reducer, by equation 1.

    Partitions without a drawn row count like the others: the paper draws equally many rows of each
    partition, but uniform sampling over all rows may miss a small one.
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
