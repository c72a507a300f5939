"""PageRank: five rounds over cached links, each a join and a sum by target."""

from operator import add
from typing import Any

from benchmarks.data import DataFolder
from benchmarks.grouping import grouped_in_pair
from benchmarks.pair import Pair, lines_of_half
from benchmarks.stopwatch import Stopwatch

ROWS = ("PageRank",)
EDGES = {"small": 10_000, "standard": 600_000}
EDGES_PER_NODE = 10
ROUNDS = 5
PARTITIONS = 2


def inputs(data: DataFolder, scale: str) -> str:
    return data.graph(EDGES[scale] // EDGES_PER_NODE, EDGES[scale])


def edge_of(line: str) -> tuple[int, int]:
    source, target = line.split(" ")
    return int(source), int(target)


def full_rank(_targets: list[int]) -> float:
    return 1.0


def contributions(node: tuple[int, tuple[list[int], float]]) -> list[tuple[int, float]]:
    _source, (targets, rank) = node
    share = rank / len(targets)
    return [(target, share) for target in targets]


def damped(total: float) -> float:
    return 0.15 + 0.85 * total


def rdd(sc: Any, path: str, watch: Stopwatch) -> Any:
    edges = sc.textFile(path).map(edge_of)
    links = edges.groupByKey(PARTITIONS).mapValues(list).cache()
    links.count()
    with watch.timed(ROWS[0]):
        ranks = links.mapValues(full_rank)
        for _ in range(ROUNDS):
            received = links.join(ranks).flatMap(contributions)
            ranks = received.reduceByKey(add, PARTITIONS).mapValues(damped)
        final = ranks.values().collect()
    return _answer(final)


def hand(path: str, watch: Stopwatch) -> Any:
    with Pair(_rank_half, path) as pair:
        pair.ask()
        with watch.timed(ROWS[0]):
            first, second = pair.ask()
            final = first + second
    return _answer(final)


def _rank_half(peer: Any, path: str) -> Any:
    links = grouped_in_pair(peer, map(edge_of, lines_of_half(path, peer.index)))
    yield len(links)
    mine = peer.index
    ranks = {node: full_rank(targets) for node, targets in links.items()}
    for _ in range(ROUNDS):
        totals: tuple[dict[int, float], dict[int, float]] = ({}, {})
        for node, targets in links.items():
            if node in ranks:
                for target, share in contributions((node, (targets, ranks[node]))):
                    part = totals[target & 1]
                    part[target] = add(part[target], share) if target in part else share
        kept = totals[mine]
        for target, share in peer.exchange(totals[1 - mine]).items():
            kept[target] = add(kept[target], share) if target in kept else share
        ranks = {node: damped(total) for node, total in kept.items()}
    yield list(ranks.values())


def _answer(ranks: list[float]) -> Any:
    return [len(ranks), sum(ranks), sorted(ranks)[-10:]]
