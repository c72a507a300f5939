"""Terasort's first shuffle by cost (SCache, figure 13a), and what sampling costs (figure 15).

Rows of 100 bytes are read from disks, dealt out by range and sorted. Sampling is one more pass over
the input: it reads and parses as the maps do, and keeps a few rows of each partition.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks.report import aligned
from benchmarks.scache_groupby import PAPERS, ROUNDS, SEED, UNEVEN, WAYS, Cluster, cut
from pyrite.forecast.costs import CostModel
from pyrite.forecast.play import simulate
from pyrite.forecast.tally import Tally
from pyrite.forecast.workload import JobModel, StageModel, Workload, two_stages, uneven
from pyrite.schedule.scheduler import Scheduler

ROW_BYTES = 100
# Cutting a row from its file and finding its range; comparing and merging it in a sort.
PARSE_ROW_S = 1e-6
SORT_ROW_S = 1.5e-6
TERASORT_GB = {"small": (10,), "standard": (10, 25, 50, 100, 200)}
SAMPLING_NODES = {"small": (10,), "standard": (10, 25, 50, 100)}
# Of the input, for each node.
SAMPLING_GB = (0.2, 1.0, 4.0)


@dataclass(frozen=True)
class Sort:
    """One way through the first shuffle."""

    size_gb: float
    way: str
    map_s: float
    reduce_s: float


@dataclass(frozen=True)
class Sampling:
    """A pass over the input that draws samples, beside the map stage that follows."""

    nodes: int
    gb_per_node: float
    sample_s: float
    map_s: float


def terasort(cluster: Cluster, size_bytes: float) -> Workload:
    tasks = cluster.tasks
    rows = size_bytes / ROW_BYTES / tasks
    maps = uneven(tasks, rows * PARSE_ROW_S, UNEVEN, SEED)
    workload = two_stages(maps, [rows * SORT_ROW_S] * tasks, size_bytes / tasks)
    first = replace(workload.stages[0], input_bytes=[size_bytes / tasks] * tasks)
    return replace(workload, stages={**workload.stages, 0: first})


def sort_once(way: str, size_gb: float) -> Sort:
    tally = _played(PAPERS, terasort(PAPERS, size_gb * 1e9), way)
    maps, reduces = tally.stages[0], tally.stages[1]
    return Sort(size_gb, way, maps.ended_s - maps.began_s, reduces.ended_s - maps.ended_s)


def sample_once(nodes: int, gb_per_node: float) -> Sampling:
    cluster = Cluster(nodes=nodes)
    size_bytes = nodes * gb_per_node * 1e9
    sort = terasort(cluster, size_bytes)
    maps = sort.stages[0]
    first = StageModel(0, maps.cpu_s, "samples", input_bytes=maps.input_bytes)
    sample = _played(cluster, Workload({0: first}, (JobModel(0, 0),)), next(iter(WAYS)))
    stage = _played(cluster, sort, next(iter(WAYS))).stages[0]
    sampled = sample.stages[0]
    return Sampling(
        nodes, gb_per_node, sampled.ended_s - sampled.began_s, stage.ended_s - stage.began_s
    )


def _played(cluster: Cluster, workload: Workload, way: str) -> Tally:
    kinds = [cluster.kind] * cluster.nodes
    outcome = simulate(workload, kinds, CostModel(), scheduler=Scheduler(WAYS[way]))
    if outcome.errors:
        raise outcome.errors[0]
    return outcome.tally


def sorted_table(sorts: Sequence[Sort]) -> list[str]:
    """Figure 13a."""
    lines = [
        f"**Terasort's first shuffle, simulated** (figure 13a): {PAPERS.nodes} nodes, {ROUNDS} "
        f"rounds of maps and reducers, rows of {ROW_BYTES} bytes read from disks; parsing takes "
        f"{PARSE_ROW_S * 1e6:g} µs a row, sorting {SORT_ROW_S * 1e6:g} µs. The paper's reduce "
        "stage is twice as fast with SCache.",
        "",
    ]
    cells = [["GB", "way", "maps", "reduce stage", "cut", "job cut"]]
    ways = list(WAYS)
    bases = {each.size_gb: each for each in sorts if each.way == ways[1]}
    for each in sorts:
        base = bases[each.size_gb]
        whole, base_whole = each.map_s + each.reduce_s, base.map_s + base.reduce_s
        cuts = [f"{cut(base.reduce_s, each.reduce_s):.0%}", f"{cut(base_whole, whole):.0%}"]
        cells.append(
            [
                f"{each.size_gb:g}",
                each.way,
                f"{each.map_s:.1f} s",
                f"{each.reduce_s:.1f} s",
                *(["", ""] if each is base else cuts),
            ]
        )
    return lines + aligned(cells)


def sampling_table(samplings: Sequence[Sampling]) -> list[str]:
    """Figure 15."""
    lines = [
        "**What sampling costs, simulated** (figure 15): a pass over the input before the maps, "
        "where no partitioner has sampled by itself. It grows with the input of a node, not with "
        "their number.",
        "",
    ]
    cells = [["nodes", "GB a node", "sampling", "maps"]]
    for each in samplings:
        cells.append(
            [
                str(each.nodes),
                f"{each.gb_per_node:g}",
                f"{each.sample_s:.1f} s",
                f"{each.map_s:.1f} s",
            ]
        )
    return lines + aligned(cells)
