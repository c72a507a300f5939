"""Reducers of real jobs placed by size, at random and first in first out (SCache, figure 4).

The traces tell a job's shuffle in bytes, not how it falls to reducers: their number follows from
the bytes, and how uneven they are is drawn for each job from the dice of one seed.
"""

import gzip
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heapreplace
from math import ceil
from pathlib import Path
from random import Random
from statistics import fmean

from benchmarks.scache_groupby import CORES, NODES
from pyrite.forecast.costs import CostModel
from pyrite.forecast.workload import zipf_shares
from pyrite.ids import NodeId
from pyrite.place.reducers import Reducer, ReducerNode, place, weigh

TRACES = ("FB-2009", "FB-2010")
FILE = "swim_{}_samples_24_times_1hr_0.tsv.gz"
SEED = 4
REDUCER_BYTES = 32e6
MAP_BYTES = 128e6
MOST_ROUNDS = 5
EXECUTORS = NODES * CORES
# Reducers' sizes fall with their rank to the power of up to this; each job draws its own.
MOST_SKEW = 0.6
HOSTS = [ReducerNode(NodeId(f"node-{number}"), CORES) for number in range(NODES)]

WAYS = ("random", "MinHeap", "MinHeap, swaps")


@dataclass(frozen=True)
class Job:
    """One job of a trace: what its reducers read, and what of it lies where."""

    rounds: int
    reducers: list[Reducer]


@dataclass(frozen=True)
class Gain:
    """What placing came to on average, against first in first out: parts of its time saved."""

    trace: str
    rounds: int
    jobs: int
    saved: dict[str, float]
    # The bytes that cross the network, as parts of those with random places.
    network: dict[str, float]


def jobs_of(path: Path, every: int = 1) -> list[Job]:
    """Every so manieth job of a trace that has two reducers or more."""
    dice = Random(SEED)
    found = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            _, _, _, map_bytes, shuffle_bytes, _ = map(str.strip, line.split("\t"))
            if number % every == 0 and float(shuffle_bytes) > REDUCER_BYTES:
                found.append(job(float(map_bytes), float(shuffle_bytes), dice))
    return found


def job(map_bytes: float, shuffle_bytes: float, dice: Random) -> Job:
    """A job of these sizes; its maps lie wherever, and each deals out its output alike."""
    count = min(ceil(shuffle_bytes / REDUCER_BYTES), EXECUTORS * MOST_ROUNDS)
    shares = zipf_shares(count, dice.uniform(0.0, MOST_SKEW))
    dice.shuffle(shares)
    maps = max(1, ceil(map_bytes / MAP_BYTES))
    # More maps than this lie evenly everywhere, and no node has more than its part.
    held: dict[NodeId, float] = {}
    if maps <= EXECUTORS:
        for _ in range(maps):
            node = dice.choice(HOSTS).node
            held[node] = held.get(node, 0.0) + 1 / maps
    return Job(
        ceil(count / EXECUTORS),
        [
            Reducer(
                round(share * shuffle_bytes),
                {node: int(part * share * shuffle_bytes) for node, part in held.items()},
            )
            for share in shares
        ],
    )


def fifo_s(tasks_s: Sequence[float], executors: int) -> float:
    """When the last ends if each next task goes to the executor that becomes free first."""
    free_s = [0.0] * executors
    last_s = 0.0
    for task_s in tasks_s:
        ends_s = free_s[0] + task_s
        heapreplace(free_s, ends_s)
        last_s = max(last_s, ends_s)
    return last_s


def placed_s(tasks_s: Sequence[float], places: Sequence[NodeId]) -> float:
    """The same where each task runs on its node, on the executor there that becomes free first."""
    on_node: dict[NodeId, list[float]] = {}
    for task_s, node in zip(tasks_s, places, strict=True):
        on_node.setdefault(node, []).append(task_s)
    return max(fifo_s(each, CORES) for each in on_node.values())


def dealt_at_random(reducers: Sequence[Reducer], dice: Random) -> list[NodeId]:
    """As many to each node, whoever they are."""
    nodes = [HOSTS[index % NODES].node for index in range(len(reducers))]
    dice.shuffle(nodes)
    return nodes


def gains(trace: str, jobs: Sequence[Job]) -> list[Gain]:
    """What each way saves, by the number of rounds; the last is over all jobs."""
    model = CostModel()
    dice = Random(SEED)
    ways: dict[str, Callable[[Sequence[Reducer]], list[NodeId]]] = {
        "random": lambda reducers: dealt_at_random(reducers, dice),
        "MinHeap": lambda reducers: place(HOSTS, reducers, swaps=False),
        "MinHeap, swaps": lambda reducers: place(HOSTS, reducers),
    }
    found: list[tuple[int, dict[str, float], dict[str, float]]] = []
    for each in jobs:
        tasks_s = [model.task_s() + model.decode_s(one.size_bytes) for one in each.reducers]
        base_s = fifo_s(tasks_s, EXECUTORS)
        saved, network = {}, {}
        for name, way in ways.items():
            places = way(each.reducers)
            saved[name] = 1 - placed_s(tasks_s, places) / base_s
            network[name] = weigh(HOSTS, each.reducers, places).network_bytes
        found.append((each.rounds, saved, network))
    rounds = sorted({each[0] for each in found})
    return [
        gain(trace, chosen, [each for each in found if chosen in (0, each[0])])
        for chosen in [*rounds, 0]
    ]


def gain(
    trace: str, rounds: int, found: Sequence[tuple[int, dict[str, float], dict[str, float]]]
) -> Gain:
    """The average of some jobs."""
    sent = sum(network["random"] for _, _, network in found) or 1.0
    return Gain(
        trace,
        rounds,
        len(found),
        {way: fmean(saved[way] for _, saved, _ in found) for way in WAYS},
        {way: sum(network[way] for _, _, network in found) / sent for way in WAYS},
    )
