"""GroupByTest simulated as in SCache's section 5.2: how long its shuffle takes, three ways.

50 nodes of 4 cores with 16 GB and 300 Mbit/s; 1,000 maps and 1,000 reducers are five rounds each.
No rows are computed: the real scheduler runs on the cluster by cost.
"""

from dataclasses import dataclass, replace
from random import Random
from statistics import median

from pyrite.forecast.costs import CostModel, NodeKind
from pyrite.forecast.play import simulate
from pyrite.forecast.tally import StageTimes
from pyrite.forecast.workload import Workload, two_stages, uneven, zipf_shares
from pyrite.schedule.rules import Rules
from pyrite.schedule.scheduler import Scheduler

NODES = 50
CORES = 4
ROUNDS = 5
TASKS = NODES * CORES * ROUNDS
NETWORK_BYTES_PER_S = 300e6 / 8
# Half of a node's memory is reserved for the shuffle; the paper does not say how much its was.
POOL_SHARE = 0.5
# An m4.xlarge has 750 Mbit/s to its disk.
DISK_BYTES_PER_S = 750e6 / 8
KIND = NodeKind(
    CORES,
    memory_bytes=16 << 30,
    network_bytes_per_s=NETWORK_BYTES_PER_S,
    disk_write_bytes_per_s=DISK_BYTES_PER_S,
    disk_read_bytes_per_s=DISK_BYTES_PER_S,
    pool_share=POOL_SHARE,
)

# Spark's GroupByTest makes values of 1,000 bytes; appending one to its group takes a row's time.
ROW_BYTES = 1000
GROUP_ROW_S = 0.5e-6
# The map stage takes so many times as long as the network needs for all of the shuffle. Then the
# four rounds after the first, during which something can travel, take just as long as that. The
# paper does not say how long its maps took, but that all reading was hidden behind them.
MAP_OVER_NETWORK = 1.25
UNEVEN = 0.2
ZIPF = 0.3
SEED = 5

SIZES_GB = {"small": (25,), "standard": (25, 50, 100, 200)}
RATIOS = {"small": (1.25,), "standard": (0.25, 0.5, 0.75, 1.0, 1.25, 2.0)}
RATIO_GB = 25

NEVER = 1 << 62
WAYS = {
    "SCache": Rules(),
    "pull, random places": Rules(prefetch=False, small_shuffle_bytes=NEVER),
    "pull, placed": Rules(prefetch=False),
}
AHEAD, RANDOM, PLACED = WAYS
KEYS = ("even", "skewed")


@dataclass(frozen=True)
class Cluster:
    """The nodes, and what decides how much fetching ahead can gain."""

    nodes: int = NODES
    pool_share: float = POOL_SHARE
    network_bytes_per_s: float = NETWORK_BYTES_PER_S

    @property
    def tasks(self) -> int:
        return self.nodes * CORES * ROUNDS

    @property
    def kind(self) -> NodeKind:
        return replace(
            KIND, pool_share=self.pool_share, network_bytes_per_s=self.network_bytes_per_s
        )

    def network_s(self, size_bytes: float) -> float:
        """How long all links together need for a shuffle between all nodes."""
        each_bytes = size_bytes * (self.nodes - 1) / self.nodes / self.nodes
        return each_bytes / self.network_bytes_per_s


PAPERS = Cluster()


@dataclass(frozen=True)
class Median:
    """The median task of a stage: its wait for input, its work, and its writing."""

    waited_s: float
    worked_s: float
    wrote_s: float

    @classmethod
    def of(cls, stage: StageTimes) -> "Median":
        return cls(*(median(column) for column in zip(*stage.tasks, strict=True)))


@dataclass(frozen=True)
class Run:
    """One simulated run: its stages' times, all reducers' waits, and its bytes."""

    way: str
    keys: str
    size_gb: float
    map_over_network: float
    map_s: float
    reduce_s: float
    shuffle_s: float
    network_gb: float
    # The part of the reducers' input that they found on their own node, fetched ahead.
    found: float
    spilled_gb: float
    map_task: Median
    reduce_task: Median

    @property
    def job_s(self) -> float:
        return self.map_s + self.reduce_s


def group_by(
    cluster: Cluster, size_bytes: float, zipf: float, map_over_network: float, model: CostModel
) -> Workload:
    """The job: maps that make random pairs, and reducers that group them.

    The shares fall to the reducers in an order by the dice: reducers that go by index then have
    places at random.
    """
    tasks = cluster.tasks
    shares = zipf_shares(tasks, zipf)
    Random(SEED).shuffle(shares)
    output_bytes = size_bytes / tasks
    # What the model adds to the maps' own work for encoding, and for cores in each other's way.
    stage_s = cluster.network_s(size_bytes) * map_over_network
    round_s = stage_s / ROUNDS * model.shared_efficiency
    map_s = max(0.0, round_s - model.write_s(output_bytes) - model.task_overhead_s)
    rows = size_bytes / ROW_BYTES
    return two_stages(
        uneven(tasks, map_s, UNEVEN, SEED),
        [share * rows * GROUP_ROW_S for share in shares],
        output_bytes,
        shares,
    )


def least_reduce_s(cluster: Cluster, size_bytes: float, zipf: float) -> float:
    """How long the heaviest reducer takes whose input is there, with a disk and a core of its own.

    Groups are not divided, so that no scheduler has a shorter reduce stage.
    """
    model, kind = CostModel(), cluster.kind
    share = max(zipf_shares(cluster.tasks, zipf))
    read_bytes = share * size_bytes
    live_bytes = read_bytes * model.live_bytes_per_encoded_byte
    spilled_bytes = read_bytes * max(0.0, 1 - kind.executor_memory_bytes / live_bytes)
    disk_s = 2 * spilled_bytes / DISK_BYTES_PER_S
    group_s = read_bytes / ROW_BYTES * GROUP_ROW_S
    return disk_s + model.decode_s(read_bytes + spilled_bytes) + group_s


def run(way: str, keys: str, size_gb: float, map_over_network: float) -> Run:
    """One way through one job on the paper's cluster."""
    zipf = ZIPF if keys == "skewed" else 0.0
    return run_on(PAPERS, way, keys, zipf, size_gb, map_over_network)


def run_on(
    cluster: Cluster, way: str, keys: str, zipf: float, size_gb: float, map_over_network: float
) -> Run:
    """One way through one job."""
    model = CostModel()
    workload = group_by(cluster, size_gb * 1e9, zipf, map_over_network, model)
    scheduler = Scheduler(WAYS[way])
    outcome = simulate(workload, [cluster.kind] * cluster.nodes, model, scheduler=scheduler)
    if outcome.errors:
        raise outcome.errors[0]
    tally = outcome.tally
    maps, reduces = tally.stages[0], tally.stages[1]
    return Run(
        way,
        keys,
        size_gb,
        map_over_network,
        maps.ended_s - maps.began_s,
        reduces.ended_s - maps.ended_s,
        reduces.waited_s,
        outcome.network_bytes / 1e9,
        tally.found_bytes / (size_gb * 1e9),
        tally.spilled_bytes / 1e9,
        Median.of(maps),
        Median.of(reduces),
    )


def cut(before: float, after: float) -> float:
    """By how much it became less, as a part of what it was."""
    return 1 - after / before if before else 0.0
