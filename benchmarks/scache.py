"""The shuffle as a service, simulated: SCache's figures 4, 7, 11, 12, 13 and 15 for this engine.

The parts are `group_by` (with and without), `map_times` and `sweeps` (what it takes for the gain),
`terasort` (figure 13a), `locality` (figure 13b), `sampling` (figure 15), `traces` (reducers of real
jobs placed three ways) and `prediction` (of reducers' sizes).
"""

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

from benchmarks.scache_groupby import (
    AHEAD,
    KEYS,
    MAP_OVER_NETWORK,
    RANDOM,
    RATIO_GB,
    RATIOS,
    SIZES_GB,
    WAYS,
    Run,
    run,
)
from benchmarks.scache_locality import LOCALITY_NODES, planned
from benchmarks.scache_plots import svg
from benchmarks.scache_prediction import CASES, ROWS_PER_MAP, errors_of
from benchmarks.scache_report import Measured, markdown, plots, problems, targets
from benchmarks.scache_sweeps import simulate_job, sweep_jobs
from benchmarks.scache_terasort import (
    SAMPLING_GB,
    SAMPLING_NODES,
    TERASORT_GB,
    sample_once,
    sort_once,
)
from benchmarks.scache_traces import FILE, TRACES, gains, jobs_of

Job = tuple[str, str, float, float]

EVERY_JOB = {"small": 20, "standard": 1}


class Scache:
    """Runs the parts asked for, and reports."""

    def __init__(self, scale: str, folder: Path) -> None:
        self.scale = scale
        self.folder = folder
        self.measured = Measured()

    def run(self, part: str) -> None:
        """One part, by its name."""
        print(part, flush=True)
        match part:
            case "group_by":
                wanted = product(SIZES_GB[self.scale], KEYS, WAYS)
                jobs = [(way, keys, size_gb, MAP_OVER_NETWORK) for size_gb, keys, way in wanted]
                self.measured.runs = self._simulate(jobs)
            case "map_times":
                pairs = product(RATIOS[self.scale], (AHEAD, RANDOM))
                jobs = [(way, KEYS[0], RATIO_GB, ratio) for ratio, way in pairs]
                self.measured.ratios = self._simulate(jobs)
            case "sweeps":
                self.measured.scale = self.scale
                with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
                    self.measured.sweeps = list(pool.map(simulate_job, sweep_jobs(self.scale)))
            case "terasort":
                ways = list(product(TERASORT_GB[self.scale], WAYS))
                with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
                    sorts = pool.map(sort_once, *zip(*((w, gb) for gb, w in ways), strict=True))
                    self.measured.sorts = list(sorts)
            case "sampling":
                cases = list(product(SAMPLING_NODES[self.scale], SAMPLING_GB))
                self.measured.samplings = [sample_once(*each) for each in cases]
            case "locality":
                self.measured.localities = [planned(nodes) for nodes in LOCALITY_NODES]
            case "traces":
                self._place_traces()
            case "prediction":
                for each in CASES:
                    self.measured.errors.append(errors_of(each, ROWS_PER_MAP[self.scale]))
                    print(f"  {each}", flush=True)

    def _simulate(self, jobs: Sequence[Job]) -> list[Run]:
        """Runs of virtual time, several at once: nobody's clock is watched."""
        found = []
        with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            for each in pool.map(run, *zip(*jobs, strict=True)):
                found.append(each)
                print(
                    f"  {each.size_gb:g} GB, {each.keys}, maps {each.map_over_network:g}: "
                    f"{each.way}: maps {each.map_s:.1f} s, reduces {each.reduce_s:.1f} s, "
                    f"waits {each.shuffle_s:,.0f} s",
                    flush=True,
                )
        return found

    def _place_traces(self) -> None:
        # Where SWIM's traces lie; nothing else is looked for.
        folder = Path(os.environ.get("PYRITE_BENCH_TRACES", os.devnull))
        for trace in TRACES:
            path = folder / FILE.format(trace)
            if not path.exists():
                self.measured.absent.append(
                    f"{trace} was left out: {FILE.format(trace)} is not there; "
                    "PYRITE_BENCH_TRACES names the folder of SWIM's traces"
                )
                print(f"  {self.measured.absent[-1]}", flush=True)
                continue
            jobs = jobs_of(path, EVERY_JOB[self.scale])
            self.measured.gains += gains(trace, jobs)
            print(f"  {trace}: {len(jobs):,} jobs", flush=True)

    def markdown(self, command: str) -> str:
        """The report; the plots go beside it."""
        names = []
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, plot in plots(self.measured).items():
            (self.folder / f"scache-{name}.svg").write_text(svg(plot))
            names.append(f"scache-{name}.svg")
        return markdown(self.measured, command, names)

    @property
    def is_well(self) -> bool:
        met = all(target.is_met for target in targets(self.measured))
        return met and not problems(self.measured)
