"""What the real half of the scache suite measured, as Markdown, and whether it is enough."""

from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple

from benchmarks import scache_cluster_run as cluster
from benchmarks.report import TITLES, aligned
from benchmarks.results import Results
from benchmarks.scache_groupby import cut
from benchmarks.targets import Target

# The way that the others are held against.
BASE = "pull"
AHEAD = "SCache"
LEAST_SPEEDUP = 3
MOST_FILES = 50
ENGINES = ("pyrite", "pyspark")


class Case(NamedTuple):
    """One row of the table of the three nodes."""

    operator: str
    network: str
    way: str

    def __str__(self) -> str:
        return f"{self.operator}, {network_text(self.network)}, {self.way}"


class Wide(NamedTuple):
    """So many maps and as many reducers, between which so many rows go."""

    side: int
    rows: int
    setting: str = ""

    def __str__(self) -> str:
        return f"{self.side:,} x {self.side:,}{f', {self.setting}' if self.setting else ''}"


@dataclass
class Measured:
    """Everything, as far as it was run."""

    scale: str
    records: int
    repeat: int
    engines: Results
    cases: dict[Case, list[dict[str, Any]]] = field(default_factory=dict)
    wides: dict[Wide, list[dict[str, Any]]] = field(default_factory=dict)
    others_cores: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def of(self, case: Case, name: str) -> float | None:
        """The median, where the case was run."""
        found = [each[name] for each in self.cases.get(case, ())]
        return median(found) if found else None


def network_text(network: str) -> str:
    return f"{network[:-1]} MiB/s" if network else "no limit"


def markdown(measured: Measured) -> str:
    """This half of the report; nothing where nothing was run."""
    lines = []
    if measured.cases:
        lines += ["", *_cluster(measured)]
    if measured.engines.rows():
        lines += ["", *_gigabyte(measured)]
    if measured.wides:
        lines += ["", *_wide(measured)]
    verdicts = [str(target) for target in targets(measured)]
    verdicts += [f"PROBLEM: {problem}" for problem in problems(measured)]
    if verdicts:
        lines += ["", *(f"- {each}" for each in verdicts)]
    if lines and not problems(measured):
        lines += ["", "All answers of real runs agree."]
    return "\n".join(lines) + "\n" if lines else ""


def _cluster(measured: Measured) -> list[str]:
    size_mb = measured.records * (cluster.KEY_BYTES + cluster.VALUE_BYTES) / 1e6
    lines = [
        f"**Between {cluster.NODES} real nodes of one executor**: {measured.records:,} records "
        f"({size_mb:.0f} MB), {cluster.MAPS} maps, {cluster.REDUCERS} reducers; what each node's "
        "block server sends in a second is limited by a token bucket. SCache: reducers are placed "
        "and their input is fetched while maps run. Pull, placed: reducers are placed by the true "
        "sizes when the maps have ended. Pull: not placed. groupByKey's keys are skewed (a square "
        f"of even ones). Reduce stage: from the last map's end to the job's. Medians of "
        f"{measured.repeat}, each in a fresh process, by turns; other programs used up to "
        f"{max(measured.others_cores, default=0.0):.2f} cores meanwhile.",
        "",
    ]
    titles = ["operator", "network", "way", "total", "cut", "maps", "reduce stage", "cut"]
    cells = [[*titles, "fetched ahead MB", "to cross the network MB"]]
    for case in measured.cases:
        total_s, maps_s, reduces_s = (
            measured.of(case, name) or 0.0 for name in ("total_s", "maps_s", "reduces_s")
        )
        network_bytes = measured.of(case, "network_bytes")
        cells.append(
            [
                case.operator,
                network_text(case.network),
                case.way,
                f"{total_s:.2f} s",
                _cut(measured, case, "total_s"),
                f"{maps_s:.2f} s",
                f"{reduces_s:.2f} s",
                _cut(measured, case, "reduces_s"),
                f"{(measured.of(case, 'fetched_bytes') or 0) / 1e6:.0f}",
                f"{network_bytes / 1e6:.0f}" if network_bytes else "",
            ]
        )
    return lines + aligned(cells)


def _cut(measured: Measured, case: Case, name: str) -> str:
    before, after = measured.of(case._replace(way=BASE), name), measured.of(case, name)
    return f"{cut(before, after):.0%}" if before and after and case.way != BASE else ""


def _gigabyte(measured: Measured) -> list[str]:
    results = measured.engines
    versions = ", ".join(
        f"{TITLES[engine]} {version}" for engine in ENGINES if (version := results.version(engine))
    )
    lines = [
        f"**A gigabyte on two cores** ({versions}): records of 100 bytes, 16 reducers. Pyrite: a "
        "pool of 512 MB and two executors of 256 MB. PySpark: its defaults, a heap of 1 GB and "
        "512 MB a Python worker. Peaks are the largest proportional set size of the process tree.",
        "",
    ]
    cells = [["", *(TITLES[engine] for engine in ENGINES), "PySpark / Pyrite"]]
    cells[0] += [f"{TITLES[engine]}, peak MB" for engine in ENGINES]
    for row in results.rows():
        seconds = [results.seconds(row, engine) for engine in ENGINES]
        found = [results.result(row, engine) for engine in ENGINES]
        ratio = results.ratio(row, "pyspark", "pyrite")
        cells.append(
            [
                row,
                *(f"{each:.2f} s" if each else "" for each in seconds),
                f"{ratio:.2f}" if ratio else "",
                *(f"{each.peak_bytes / 1e6:.0f}" if each else "" for each in found),
            ]
        )
    return lines + aligned(cells)


def _wide(measured: Measured) -> list[str]:
    lines = [
        "**Wide shuffles on two cores**: reduceByKey with as many reducers as maps. Files: the "
        "most that lay in the scratch folders at a time, in memory and on disk, the engine's own "
        "included. Tiny reducers are computed together, unless pyrite.shuffle.tiny=0.",
        "",
    ]
    cells = [["maps x reducers", "rows", "pairs of tasks", "time", "files"]]
    for wide, outcomes in measured.wides.items():
        cells.append(
            [
                str(wide),
                f"{wide.rows:,}",
                f"{wide.side**2:,}",
                f"{median(each['seconds'] for each in outcomes):.2f} s",
                f"{max(each['files'] for each in outcomes)}",
            ]
        )
    return lines + aligned(cells)


def targets(measured: Measured) -> list[Target]:
    """What must be shown, as far as it was run."""
    # Maps of the small scale are over before anything could travel.
    found = _ahead(measured) if measured.scale == "standard" else []
    results = measured.engines
    for row in results.rows():
        if ratio := results.ratio(row, "pyspark", "pyrite"):
            what = f"{row}, PySpark's time over Pyrite's"
            found.append(Target(what, ratio, LEAST_SPEEDUP, at_least=True))
        ours_run, theirs = (results.result(row, engine) for engine in ENGINES)
        if ours_run and theirs and theirs.peak_bytes:
            what = f"{row}, Pyrite's peak memory over PySpark's"
            found.append(Target(what, ours_run.peak_bytes / theirs.peak_bytes, 1))
    for wide, outcomes in measured.wides.items():
        most = max(each["files"] for each in outcomes)
        found.append(Target(f"files of {wide}", most, MOST_FILES, unit="files"))
    return found


def _ahead(measured: Measured) -> list[Target]:
    """Where the network is slow, fetching ahead must shorten the reduce stage."""
    found = []
    for case in measured.cases:
        base = measured.of(case._replace(way=BASE), "reduces_s")
        ours = measured.of(case, "reduces_s")
        if case.way == AHEAD and case.network and base and ours:
            what = f"{case.operator} at {network_text(case.network)}: reduce stage over pull's"
            found.append(Target(what, ours / base, 1))
    return found


def problems(measured: Measured) -> list[str]:
    """What failed, and who found another answer than the first."""
    results = measured.engines
    found = [*measured.failures, *results.failures, *results.disagreements()]
    for operator in dict.fromkeys(case.operator for case in measured.cases):
        answers = [
            (str(case), outcome["answer"])
            for case, outcomes in measured.cases.items()
            if case.operator == operator
            for outcome in outcomes
        ]
        found += _different(answers)
    for rows in dict.fromkeys((wide.side, wide.rows) for wide in measured.wides):
        answers = [
            (str(wide), outcome["answer"])
            for wide, outcomes in measured.wides.items()
            if (wide.side, wide.rows) == rows
            for outcome in outcomes
        ]
        found += _different(answers)
    return found


def _different(answers: list[tuple[str, Any]]) -> list[str]:
    (first_name, first), *others = answers
    return [
        f"{name} answers {answer}, {first_name} answers {first}"
        for name, answer in others
        if answer != first
    ]
