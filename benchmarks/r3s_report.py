"""What the r3s suite measured, as Markdown, and whether it shows what it must."""

from dataclasses import dataclass, field
from statistics import median
from typing import Any

from benchmarks.r3s_cases import Row
from benchmarks.r3s_large import table as large_table
from benchmarks.r3s_pagecache import DiskSpeed
from benchmarks.r3s_regression import MATRIX_BYTES
from benchmarks.r3s_run import STEPS
from benchmarks.remote_blocks import REMOTE, BlockTimes
from benchmarks.report import TITLES, aligned, machine
from benchmarks.targets import Target

PARTS = {
    "whole": "**(a) All of the set fits into the memory of the nodes that compute**",
    "half": "**(b) Half of the set fits**",
}
MOST_OF_LIMIT = 1.1
LEAST_OF_SOCKET = 0.8
LARGE_BLOCK_BYTES = 1 << 20
# A half, as far as whole segments and the sharing out of tasks allow it.
ABOUT = 0.1
# A sum of floats depends on its order.
NEAR = 1e-9


@dataclass
class Found:
    """All runs of one row."""

    row: Row
    outcomes: list[dict[str, Any]] = field(default_factory=list)
    peaks_bytes: list[int] = field(default_factory=list)
    others_cores: list[float] = field(default_factory=list)

    def add(self, outcome: dict[str, Any], peak_bytes: int, others_cores: float) -> None:
        self.outcomes.append(outcome)
        self.peaks_bytes.append(peak_bytes)
        self.others_cores.append(others_cores)

    def of(self, name: str) -> float:
        return float(median(each[name] for each in self.outcomes))

    def of_limit(self, kind: str) -> float | None:
        """The worst peak over its limit, among `nodes` or `executors`."""
        found = [
            each["peak_bytes"] / each["limit_bytes"]
            for outcome in self.outcomes
            for each in outcome["peaks"].get(kind, [])
            if each["limit_bytes"]
        ]
        return max(found, default=None)

    @property
    def in_memory(self) -> float:
        """The share of the set on the nodes that compute: what is left."""
        return max(0.0, 1 - self.of("on_disk") - self.of("recomputed") - self.of("elsewhere"))


@dataclass
class Measured:
    """Everything, as far as it was run."""

    partitions: int
    repeat: int
    rows: dict[tuple[str, str, str], Found] = field(default_factory=dict)
    disk: DiskSpeed | None = None
    blocks: list[BlockTimes] = field(default_factory=list)
    switches: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)
    # By the way in which partitions larger than an executor are kept.
    large: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def part(self, name: str) -> list[Found]:
        return [found for (part, _, _), found in self.rows.items() if part == name]

    def kind(self, part: str, kind: str) -> Found | None:
        return next((found for found in self.part(part) if found.row.kind == kind), None)

    @property
    def is_well(self) -> bool:
        return not problems(self) and all(target.is_met for target in targets(self))


def markdown(measured: Measured, command: str) -> str:
    """The whole report."""
    versions = {
        f"{TITLES[found.row.engine]} {found.outcomes[0]['version']}": None
        for found in measured.rows.values()
    }
    lines = [machine(list(versions)), f"Made by `{command}`."]
    if measured.rows:
        lines += ["", *_figure(measured)]
    if measured.large:
        lines += ["", *large_table(measured.large)]
    if measured.blocks:
        lines += ["", "**Reading a block**: medians of calls by turns", "", *_blocks(measured)]
    if measured.switches:
        lines += ["", "**What the pool knows of the work under way**", "", *_switches(measured)]
    lines += ["", *(f"- {target}" for target in targets(measured))]
    lines += [f"- PROBLEM: {problem}" for problem in problems(measured)]
    return "\n".join(lines) + "\n"


def _figure(measured: Measured) -> list[str]:
    size_mb = measured.partitions * MATRIX_BYTES / 1e6
    # PySpark's JVM is not waited for by those who start it: its time would count as others'.
    ours = [each for each in measured.rows.values() if each.row.engine == "pyrite"]
    others = max((max(found.others_cores) for found in ours), default=0.0)
    lines = [
        f"Logistic regression, {STEPS} steps over {measured.partitions} cached matrices "
        f"({size_mb:.0f} MB) parsed from text, two nodes of one executor; medians of "
        f"{measured.repeat} (PySpark: 1), each in a fresh process, by turns. During Pyrite's "
        f"runs other programs used up to {others:.2f} cores.",
        *_page_cache(measured.disk),
    ]
    for part, title in PARTS.items():
        if found := measured.part(part):
            lines += ["", title, "", *_times(measured, part, found), ""]
            lines += ["Where the set lay, and memory:", "", *_places(found)]
    if cold := [each for each in measured.rows.values() if each.row.is_cold_too]:
        lines += ["", "A cold step, on average:", "", *_cold(cold)]
    return lines


def _page_cache(disk: DiskSpeed | None) -> list[str]:
    if disk is None:
        return []
    return [
        "Page cache: what is written to disk stays in memory if there is any, so disks are shown "
        "twice. Warm: as it is, the disk is memory. Cold: before each step, off the clock, the "
        "files of blocks (or the input, where partitions are made again) are synced and evicted "
        "with posix_fadvise; mincore tells what stayed, /proc/PID/io what devices then gave. "
        f"The disk reads {disk.first / 1e6:,.0f} MB/s the first time, {disk.again / 1e6:,.0f} MB/s "
        "when evicted and read again (beyond this machine there may be caches that it can't "
        f"empty), {disk.cached / 1e6:,.0f} MB/s from the page cache."
    ]


def _times(measured: Measured, part: str, rows: list[Found]) -> list[str]:
    base = measured.kind(part, "pooled")
    cells = [["kept", "first pass", f"{STEPS} steps", "/ pooled", f"{STEPS} steps, cold"]]
    cells[0].append("/ pooled")
    for found in rows:
        cells.append(
            [
                _name(found),
                f"{found.of('first_s'):.2f} s",
                f"{found.of('steps_s'):.2f} s",
                _ratio(found.of("steps_s"), base),
                f"{found.of('cold_s'):.2f} s" if found.row.is_cold_too else "",
                _ratio(found.of("cold_s"), base) if found.row.is_cold_too else "",
            ]
        )
    return aligned(cells)


def _places(rows: list[Found]) -> list[str]:
    cells = [
        ["kept", "in memory", "on idle nodes", "on disk", "recomputed"],
    ]
    cells[0] += ["peak MB, all", "pool / limit", "executor / limit"]
    for found in rows:
        cells.append(
            [
                _name(found),
                f"{found.in_memory:.0%}",
                f"{found.of('elsewhere'):.0%}",
                f"{found.of('on_disk'):.0%}",
                f"{found.of('recomputed'):.0%}",
                f"{max(found.peaks_bytes) / 1e6:.0f}",
                _share(found.of_limit("nodes")),
                _share(found.of_limit("executors")),
            ]
        )
    return aligned(cells)


def _cold(rows: list[Found]) -> list[str]:
    cells = [["kept", "evicted MB", "stayed MB", "read from devices MB"]]
    for found in rows:
        sizes = [found.of(f"{name}_bytes") for name in ("evicted", "resident", "device")]
        cells.append([_name(found), *(f"{size / 1e6:.1f}" for size in sizes)])
    return aligned(cells)


def _blocks(measured: Measured) -> list[str]:
    cells = [["block", "way", "median µs", "GB/s", "of the plain socket"]]
    for block in measured.blocks:
        for way, taken_s in block.median_s.items():
            rate = block.size_bytes / taken_s / 1e9
            row = [block.label, way, f"{taken_s * 1e6:,.1f}", f"{rate:.2f}"]
            cells.append([*row, f"{block.of_plain(way):.0%}"])
    return aligned(cells)


def _switches(measured: Measured) -> list[str]:
    cells = [["setting", "value", "seconds", "moved MB", "spilled MB", "read from disk"]]
    for (name, state), answers in measured.switches.items():
        known = all(each["is_known"] for each in answers)
        cells.append(
            [
                f"pyrite.pool.{name}",
                state if known else f"{state} (not there)",
                f"{median(each['seconds'] for each in answers):.2f}",
                _megabytes(answers, "moved_bytes"),
                _megabytes(answers, "spilled_bytes"),
                _share(answers[-1].get("hits", {}).get("disk")),
            ]
        )
    return aligned(cells)


def targets(measured: Measured) -> list[Target]:
    """What the suite must show, as far as it was run."""
    found = [*_order(measured), *_limits(measured)]
    for block in measured.blocks:
        if block.size_bytes >= LARGE_BLOCK_BYTES:
            what = f"remote reads of {block.label} over the plain socket, throughput"
            found.append(Target(what, block.of_plain(REMOTE), LEAST_OF_SOCKET, at_least=True))
    return found


def _order(measured: Measured) -> list[Target]:
    """The order of the paper; against disk where disk means the device, not the page cache."""
    pooled, disk, again = (measured.kind("half", kind) for kind in ("pooled", "disk", "recomputed"))
    found = []
    if pooled and disk:
        ratio = pooled.of("steps_s") / disk.of("cold_s")
        found.append(
            Target("half pooled on another node, steps over those from cold disk", ratio, 1)
        )
    if disk and again:
        for name, state in (("steps_s", "warm"), ("cold_s", "cold")):
            ratio = disk.of(name) / again.of(name)
            found.append(Target(f"half on disk, steps over those recomputed, {state}", ratio, 1))
    return found


def _limits(measured: Measured) -> list[Target]:
    found = []
    for kind, title in (("nodes", "a pool"), ("executors", "an executor")):
        shares = [share for each in measured.rows.values() if (share := each.of_limit(kind))]
        if shares:
            what = f"peak of {title} over the limit, worst"
            found.append(Target(what, max(shares), MOST_OF_LIMIT))
    return found


def problems(measured: Measured) -> list[str]:
    """What failed, what did not lie where the row says, and who found other weights."""
    found = list(measured.failures)
    for each in measured.rows.values():
        where = each.row.other_half
        if where and abs(each.of(where) - 0.5) > ABOUT:
            share = f"{each.of(where):.0%} {where.replace('_', ' ')}"
            found.append(f"{_name(each)}: not half of the set, but {share}")
    answers = [
        (_name(each), outcome["weights"])
        for each in measured.rows.values()
        for outcome in each.outcomes
    ]
    for name, weights in answers:
        pairs = zip(weights, answers[0][1], strict=True)
        if any(abs(mine - first) > NEAR for mine, first in pairs):
            found.append(f"{name} found other weights than {answers[0][0]}")
    return found


def _name(found: Found) -> str:
    return f"{TITLES[found.row.engine]}: {found.row.name}"


def _ratio(seconds: float, base: Found | None) -> str:
    return f"{seconds / base.of('steps_s'):.2f}" if base else ""


def _share(share: float | None) -> str:
    return "" if share is None else f"{share:.2f}"


def _megabytes(answers: list[dict[str, Any]], name: str) -> str:
    sizes = [each[name] for each in answers if name in each]
    return f"{median(sizes) / 1e6:.0f}" if sizes else ""
