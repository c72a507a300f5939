"""What the scache suite measured, as Markdown and as plots, and whether it shows what it must."""

from dataclasses import dataclass, field
from statistics import fmean

from benchmarks import scache_groupby as group_by
from benchmarks import scache_prediction as prediction
from benchmarks import scache_traces as traces
from benchmarks.report import aligned, machine
from benchmarks.scache_groupby import AHEAD, KEYS, RANDOM, Run, cut
from benchmarks.scache_locality import Locality, compared
from benchmarks.scache_plots import Plot
from benchmarks.scache_prediction import SAMPLES_PER_REDUCER, SHARES, Errors
from benchmarks.scache_sweeps import slower, swept
from benchmarks.scache_terasort import Sampling, Sort, sampling_table, sorted_table
from benchmarks.scache_traces import Gain
from benchmarks.targets import Target
from pyrite.place.predict import PredictionError

LEAST_REDUCE_CUT = 0.70
LEAST_SHUFFLE_CUT = 0.85
# At the share of maps that the scheduler waits for, and the paper's samples a reducer.
SEEN, DRAWN = 0.05, 3


@dataclass
class Measured:
    """Everything, as far as it was run."""

    runs: list[Run] = field(default_factory=list)
    ratios: list[Run] = field(default_factory=list)
    scale: str = "standard"
    sweeps: list[Run] = field(default_factory=list)
    sorts: list[Sort] = field(default_factory=list)
    localities: list[Locality] = field(default_factory=list)
    samplings: list[Sampling] = field(default_factory=list)
    gains: list[Gain] = field(default_factory=list)
    errors: list[Errors] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)

    def pairs(self, keys: str) -> list[tuple[Run, Run]]:
        """With SCache and without, by size."""
        return paired([each for each in self.runs if each.keys == keys])


def paired(runs: list[Run]) -> list[tuple[Run, Run]]:
    found = {(run.size_gb, run.map_over_network, run.way): run for run in runs}
    return [
        (run, found[size, ratio, RANDOM])
        for (size, ratio, way), run in found.items()
        if way == AHEAD and (size, ratio, RANDOM) in found
    ]


def markdown(measured: Measured, command: str, plotted: list[str]) -> str:
    """The whole report."""
    lines = [machine([]), f"Made by `{command}`."]
    if measured.runs:
        lines += ["", *_group_by(measured)]
        lines += ["", *_median_tasks(measured)]
    if measured.ratios:
        lines += ["", *_ratios(measured)]
    if measured.sweeps:
        lines += ["", *swept(measured.scale, measured.sweeps)]
    if measured.sorts:
        lines += ["", *sorted_table(measured.sorts)]
    if measured.localities:
        lines += ["", *compared(measured.localities)]
    if measured.samplings:
        lines += ["", *sampling_table(measured.samplings)]
    if measured.gains:
        lines += ["", *_traces(measured)]
    if measured.errors:
        lines += ["", *_prediction(measured)]
    lines += ["", *(f"- {target}" for target in targets(measured))]
    lines += [f"- {each}" for each in measured.absent]
    lines += [f"- PROBLEM: {problem}" for problem in problems(measured)]
    if plotted:
        lines += ["", f"Plots: {', '.join(plotted)}."]
    return "\n".join(lines) + "\n"


def targets(measured: Measured) -> list[Target]:
    """Cuts are those of the worst size, for even and for skewed keys."""
    found = []
    for keys in KEYS:
        if pairs := measured.pairs(keys):
            reduces = [(cut(base.reduce_s, run.reduce_s), run.size_gb) for run, base in pairs]
            waits = [(cut(base.shuffle_s, run.shuffle_s), run.size_gb) for run, base in pairs]
            found += [
                _worst(f"reduce stage time cut, {keys} keys", reduces, LEAST_REDUCE_CUT),
                _worst(f"waits cut, {keys} keys", waits, LEAST_SHUFFLE_CUT),
            ]
    for gain in measured.gains:
        if gain.rounds == 0:
            ours, base = gain.saved["MinHeap, swaps"], gain.saved["random"]
            found += [
                _part(f"{gain.trace}: stage time saved against FIFO by MinHeap", ours, 0.0),
                _part(f"{gain.trace}: the same against random places", ours - base, 0.0),
            ]
    return found


def _worst(what: str, cuts: list[tuple[float, float]], bound: float) -> Target:
    least, size_gb = min(cuts)
    return _part(f"{what}, worst row ({size_gb:g} GB)", least, bound)


def _part(what: str, measured: float, bound: float) -> Target:
    return Target(what, measured * 100, bound * 100, at_least=True, unit="%")


def problems(measured: Measured) -> list[str]:
    """What must hold for the predictions to be of use."""
    found = []
    for errors in measured.errors:
        name = str(errors.case)
        by_sample, seen = errors.sampled[DRAWN].misplaced, errors.observed[SEEN].misplaced
        if by_sample > 0.1:
            found.append(f"samples misplace {by_sample:.0%}: {name}")
        if errors.case.order == "mixed" and seen > 0.25:
            found.append(f"observation misplaces {seen:.0%}: {name}")
    if measured.sweeps:
        found += slower(measured.scale, measured.sweeps)
    return found


def _group_by(measured: Measured) -> list[str]:
    lines = [
        f"**GroupByTest, simulated**: {group_by.NODES} nodes of {group_by.CORES} cores, 16 GB and "
        f"300 Mbit/s; {group_by.TASKS:,} maps and as many reducers, {group_by.ROUNDS} rounds each. "
        f"Rows of {group_by.ROW_BYTES:,} bytes. A reducer's work is the model's decoding (78 MB/s "
        f"and core) and {group_by.GROUP_ROW_S * 1e6:g} µs a row; the maps' is chosen so that their "
        f"stage takes {group_by.MAP_OVER_NETWORK:g} times as long as the network needs for all of "
        f"the shuffle, unevenly (log-normal, {group_by.UNEVEN:g}). Skewed: reducers' shares fall "
        f"with their rank to the power of {group_by.ZIPF:g}. Random places: reducers go by index, "
        "to which shares were dealt by the dice. Reduce stage: from the last map's end to the last "
        "reducer's. Waits: of all reducers until their input was there.",
        "",
    ]
    titles = ["GB", "keys", "way", "maps", "reduce stage", "cut", "job cut", "waits", "cut"]
    titles += ["network GB"]
    cells = [[*titles, "found ahead", "to disk GB"]]
    bases = {(run.size_gb, run.keys): run for run in measured.runs if run.way == RANDOM}
    for run in measured.runs:
        base = bases[run.size_gb, run.keys]
        cells.append(
            [
                f"{run.size_gb:g}",
                run.keys,
                run.way,
                f"{run.map_s:.1f} s",
                f"{run.reduce_s:.1f} s",
                "" if run is base else f"{cut(base.reduce_s, run.reduce_s):.0%}",
                "" if run is base else f"{cut(base.job_s, run.job_s):.0%}",
                f"{run.shuffle_s:,.0f} s",
                "" if run is base else f"{cut(base.shuffle_s, run.shuffle_s):.0%}",
                f"{run.network_gb:.1f}",
                f"{run.found:.0%}",
                f"{run.spilled_gb:.1f}",
            ]
        )
    return lines + aligned(cells)


def _median_tasks(measured: Measured) -> list[str]:
    lines = [
        "**The median task** (figure 11): seconds that a map writes beyond its work, and that a "
        "reducer waits for its input and works. A map's encoding is part of its work.",
        "",
    ]
    cells = [["GB", "keys", "way", "map works", "map writes", "reducer waits", "reducer works"]]
    for run in measured.runs:
        maps, reduces = run.map_task, run.reduce_task
        times = (maps.worked_s, maps.wrote_s, reduces.waited_s, reduces.worked_s)
        cells.append([f"{run.size_gb:g}", run.keys, run.way, *(f"{each:.2f}" for each in times)])
    return lines + aligned(cells)


def _ratios(measured: Measured) -> list[str]:
    lines = [
        f"**How long maps must be** ({group_by.RATIO_GB} GB, even keys): nothing can travel before "
        "the first maps have ended, nor what the last ones make.",
        "",
    ]
    cells = [["map stage / network", "reduce stage", "without", "cut", "waits cut", "found ahead"]]
    for run, base in paired(measured.ratios):
        cells.append(
            [
                f"{run.map_over_network:g}",
                f"{run.reduce_s:.1f} s",
                f"{base.reduce_s:.1f} s",
                f"{cut(base.reduce_s, run.reduce_s):.0%}",
                f"{cut(base.shuffle_s, run.shuffle_s):.0%}",
                f"{run.found:.0%}",
            ]
        )
    return lines + aligned(cells)


def _traces(measured: Measured) -> list[str]:
    lines = [
        f"**Reducers of traced jobs on {group_by.NODES} nodes of {group_by.CORES} executors**: "
        "time of the reduce stage saved on average against FIFO, without reading. A reducer for "
        f"each {traces.REDUCER_BYTES / 1e6:g} MB of a job's shuffle, {traces.MOST_ROUNDS} rounds "
        f"at most; skew drawn for each job: Zipf with 0 to {traces.MOST_SKEW:g}; its maps, of "
        f"{traces.MAP_BYTES / 1e6:g} MB, lie at random. Network: bytes over those with random "
        "places.",
        "",
    ]
    cells = [["trace", "rounds", "jobs", *traces.WAYS, *(f"network, {w}" for w in traces.WAYS[1:])]]
    for gain in measured.gains:
        cells.append(
            [
                gain.trace,
                str(gain.rounds or "all"),
                f"{gain.jobs:,}",
                *(f"{gain.saved[way]:+.1%}" for way in traces.WAYS),
                *(f"{gain.network[way]:.1%}" for way in traces.WAYS[1:]),
            ]
        )
    return lines + aligned(cells)


def _prediction(measured: Measured) -> list[str]:
    lines = [
        f"**Predicted sizes of {prediction.REDUCERS} reducers of {prediction.MAPS} maps**: bytes "
        "that were predicted for the wrong reducer, as a part of all; in brackets the mean of the "
        "reducers' relative errors. Observed: by the outputs of a share of the maps, at random. "
        "Samples: so many rows for each reducer of every map partition. A sort's: the sample that "
        f"its ranges were cut by. Zipf keys have exponent {prediction.ZIPF:g}.",
        "",
    ]
    titles = ["keys", "partitioner", "input", *(f"{share:.0%} observed" for share in SHARES)]
    titles += [f"{count} a reducer" for count in SAMPLES_PER_REDUCER]
    cells = [[*titles, "a sort's"]]
    for errors in measured.errors:
        found = [errors.observed[share] for share in SHARES]
        found += [errors.sampled[count] for count in SAMPLES_PER_REDUCER]
        case = errors.case
        own = _error(errors.by_sort) if errors.by_sort else ""
        cells.append([case.keys, case.routing, case.order, *map(_error, found), own])
    return lines + aligned(cells)


def _error(error: PredictionError) -> str:
    return f"{error.misplaced:.1%} ({error.mean:.1%})"


def plots(measured: Measured) -> dict[str, Plot]:
    """What there is to be drawn, by name."""
    found: dict[str, Plot] = {}
    for keys in KEYS:
        runs = [run for run in measured.runs if run.keys == keys]
        if runs:
            found |= _plots_by_size(keys, runs)
    if measured.ratios:
        found["map-times"] = _plot_ratios(measured.ratios)
    if measured.gains:
        found["traces"] = _plot_traces(measured.gains)
    if measured.errors:
        found["prediction"] = _plot_errors(measured.errors)
    return found


def _plots_by_size(keys: str, runs: list[Run]) -> dict[str, Plot]:
    sizes = [f"{run.size_gb:g}" for run in runs if run.way == AHEAD]
    by_way = {way: [run for run in runs if run.way == way] for way in group_by.WAYS}
    subtitle = f"GroupByTest, {keys} keys, {group_by.NODES} nodes, simulated"
    stages = {f"reduces, {way}": [run.reduce_s for run in each] for way, each in by_way.items()}
    stages["maps, SCache"] = [run.map_s for run in by_way[AHEAD]]
    waits = {way: [run.shuffle_s / group_by.TASKS for run in each] for way, each in by_way.items()}
    return {
        f"stages-{keys}": Plot("Time of the stages", subtitle, "GB", sizes, stages),
        f"shuffle-{keys}": Plot("A reducer's wait for its input", subtitle, "GB", sizes, waits),
    }


def _plot_ratios(runs: list[Run]) -> Plot:
    pairs = paired(runs)
    return Plot(
        "What is saved, by how long maps take",
        f"GroupByTest, {group_by.RATIO_GB} GB, even keys, simulated",
        "map stage over the time that the network needs",
        [f"{run.map_over_network:g}" for run, _ in pairs],
        {
            "reduce stage": [100 * cut(base.reduce_s, run.reduce_s) for run, base in pairs],
            "waits": [100 * cut(base.shuffle_s, run.shuffle_s) for run, base in pairs],
        },
        "%",
    )


def _plot_traces(gains: list[Gain]) -> Plot:
    rounds = sorted({gain.rounds for gain in gains if gain.rounds})
    lines = {
        way: [
            # Not what was saved: random places save less than nothing, which can't be drawn.
            100 * (1 - fmean(gain.saved[way] for gain in gains if gain.rounds == each))
            for each in rounds
        ]
        for way in traces.WAYS
    }
    return Plot(
        "Reduce stages of traced jobs",
        "time as a part of that of FIFO, mean of the traces",
        "rounds of reducers",
        [str(each) for each in rounds],
        lines,
        "%",
    )


def _plot_errors(errors: list[Errors]) -> Plot:
    lines = {}
    for each in errors:
        case = each.case
        if case.keys == "Zipf" and (case.order == "mixed" or case.routing == "range"):
            name = f"{case.routing}, {case.order}"
            lines[name] = [100 * each.observed[share].misplaced for share in SHARES]
            if case.order == "sorted":
                by_sample = 100 * each.sampled[DRAWN].misplaced
                lines[f"{name}, {DRAWN} samples"] = [by_sample] * len(SHARES)
    return Plot(
        "Bytes predicted for the wrong reducer",
        f"Zipf keys, {prediction.MAPS} maps, {prediction.REDUCERS} reducers",
        "share of the maps seen",
        [f"{share:.0%}" for share in SHARES],
        lines,
        "%",
    )
