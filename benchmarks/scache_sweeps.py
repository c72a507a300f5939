"""What decides how much the shuffle service gains: pools, skew, the length of maps, the network.

Each sweep changes one thing of a smaller cluster than the paper's, with as many bytes for each node
as its largest run has. The engine's own default is among the values, and is named.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks.report import aligned
from benchmarks.scache_groupby import (
    AHEAD,
    MAP_OVER_NETWORK,
    NETWORK_BYTES_PER_S,
    RANDOM,
    Cluster,
    Run,
    cut,
    least_reduce_s,
    run_on,
)
from pyrite.forecast.costs import NodeKind

NODES = 10
SIZE_GB = 40
SMALL = Cluster(nodes=NODES)
DEFAULT_POOL = NodeKind(1).pool_share
MBIT = 1e6 / 8

Job = tuple[Cluster, str, str, float, float, float]


@dataclass(frozen=True)
class Sweep:
    """One thing that is changed, its values by scale, and the engine's or the paper's own."""

    name: str
    unit: str
    values: dict[str, tuple[float, ...]]
    usual: float
    usual_name: str

    def job(self, value: float, way: str) -> Job:
        cluster, zipf, ratio = SMALL, 0.0, MAP_OVER_NETWORK
        match self.name:
            case "pool":
                cluster = replace(SMALL, pool_share=value)
            case "skew":
                zipf = value
            case "maps":
                ratio = value
            case "network":
                cluster = replace(SMALL, network_bytes_per_s=value * MBIT)
                # The maps stay as long as they are.
                ratio = MAP_OVER_NETWORK * value * MBIT / NETWORK_BYTES_PER_S
        return cluster, way, "skewed" if zipf else "even", zipf, SIZE_GB, ratio


SWEEPS = [
    Sweep(
        "pool",
        "of memory",
        {"small": (0.15, 0.25), "standard": (0.15, 0.2, 0.25, 0.3, 0.4, 0.5)},
        DEFAULT_POOL,
        "the engine's default",
    ),
    Sweep(
        "skew",
        "exponent",
        {"small": (0.0, 0.6), "standard": (0.0, 0.3, 0.6, 0.9)},
        0.3,
        "the table above",
    ),
    Sweep(
        "maps",
        "map stage over network",
        {"small": (1.25,), "standard": (0.25, 0.5, 1.0, 1.25, 2.0)},
        MAP_OVER_NETWORK,
        "the table above",
    ),
    Sweep(
        "network",
        "Mbit/s",
        {"small": (300,), "standard": (100, 300, 1000, 10000)},
        300,
        "the paper's",
    ),
]


def sweep_jobs(scale: str) -> list[Job]:
    """All runs: each value with and without."""
    return [
        sweep.job(value, way)
        for sweep in SWEEPS
        for value in sweep.values[scale]
        for way in (AHEAD, RANDOM)
    ]


def simulate_job(job: Job) -> Run:
    return run_on(*job)


def swept(scale: str, runs: Sequence[Run]) -> list[str]:
    """The sweeps as tables, unfavourable rows too."""
    pairs = iter(zip(runs[::2], runs[1::2], strict=True))
    lines = [
        f"**What decides**: {NODES} nodes, {SIZE_GB} GB, otherwise as above (a pool of half of the "
        "memory, even keys). Cuts against pulling with random places; job: maps and reduces. At "
        "most: if the heaviest reducer had its input, a disk and a core to itself from then on.",
    ]
    for sweep in SWEEPS:
        title = f"{sweep.name} ({sweep.unit})"
        head = [title, "maps", "without", "reduce stage", "without", "cut", "job cut", "found"]
        cells = [[*head, "cut, at most"] if sweep.name == "skew" else head]
        for value in sweep.values[scale]:
            run, base = next(pairs)
            named = f" ({sweep.usual_name})" if value == sweep.usual else ""
            most = cut(base.reduce_s, least_reduce_s(SMALL, SIZE_GB * 1e9, value))
            cells.append(
                [
                    f"{value:g}{named}",
                    f"{run.map_s:.1f} s",
                    f"{base.map_s:.1f} s",
                    f"{run.reduce_s:.1f} s",
                    f"{base.reduce_s:.1f} s",
                    f"{cut(base.reduce_s, run.reduce_s):.0%}",
                    f"{cut(base.job_s, run.job_s):.0%}",
                    f"{run.found:.0%}",
                    *([f"{most:.0%}"] if sweep.name == "skew" else []),
                ]
            )
        lines += ["", *aligned(cells)]
    return lines


def slower(scale: str, runs: Sequence[Run]) -> list[str]:
    """Values at which the whole job takes longer than by pulling."""
    values = [(sweep, value) for sweep in SWEEPS for value in sweep.values[scale]]
    pairs = zip(values, runs[::2], runs[1::2], strict=True)
    return [
        f"{sweep.name} {value:g}: the job takes {run.job_s:.1f} s, by pulling {base.job_s:.1f} s"
        for (sweep, value), run, base in pairs
        if run.job_s > 1.01 * base.job_s
    ]
