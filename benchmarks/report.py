"""The results as a table, for the terminal and as Markdown."""

import os
import platform
from pathlib import Path

from benchmarks.engines import ENGINES
from benchmarks.results import Results, mean_ratio
from benchmarks.targets import LONG_ROW_S, targets

TITLES = {"pyrite": "Pyrite", "pyspark": "PySpark", "hand": "by hand"}


def markdown(results: Results, scale: str, repeat: int, command: str) -> str:
    """The whole report: where and how it was measured, the table, the targets."""
    lines = [
        machine([f"{TITLES[engine]} {version}" for engine, version in _versions(results)]),
        f"Scale {scale}, medians of {repeat} interleaved repetitions, each in a fresh process; "
        f"peaks are the largest proportional set size of the process tree. Made by `{command}`.",
        "",
        *table(results),
        "",
        *(f"- {target}" for target in targets(results, scale)),
    ]
    if problems := results.failures + results.disagreements():
        lines += ["", *(f"- PROBLEM: {problem}" for problem in problems)]
    else:
        lines += ["", "All answers agree."]
    return "\n".join(lines) + "\n"


def table(results: Results) -> list[str]:
    """The table as lines of Markdown, wide enough to be read as it is."""
    engines = [engine for engine in ENGINES if results.version(engine)]
    cells = [
        [
            "workload",
            *(TITLES[engine] for engine in engines),
            "PySpark / Pyrite",
            "Pyrite / by hand",
            *(f"{TITLES[engine]}, peak MB" for engine in engines),
        ]
    ]
    for row in results.rows():
        found = [results.result(row, engine) for engine in engines]
        cells.append(
            [
                row,
                *(_seconds(results.seconds(row, engine)) for engine in engines),
                _ratio(results.ratio(row, "pyspark", "pyrite")),
                _ratio(results.ratio(row, "pyrite", "hand")),
                *(f"{result.peak_bytes / 1e6:.0f}" if result else "" for result in found),
            ]
        )
    cells.append(_means(results, len(engines)))
    return aligned(cells)


def _means(results: Results, engines: int) -> list[str]:
    rows = results.rows()
    long_rows = [row for row in rows if (results.seconds(row, "hand") or 0) > LONG_ROW_S]
    speedup = mean_ratio(results.ratio(row, "pyspark", "pyrite") for row in rows)
    overhead = mean_ratio(results.ratio(row, "pyrite", "hand") for row in long_rows)
    name = f"geometric mean (by hand: rows over {LONG_ROW_S * 1000:.0f} ms)"
    blank = [""] * engines
    return [name, *blank, _ratio(speedup), _ratio(overhead), *blank]


def aligned(cells: list[list[str]]) -> list[str]:
    """A table of Markdown whose columns line up: the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]

    def line(row: list[str]) -> str:
        first, *others = zip(row, widths, strict=True)
        padded = [first[0].ljust(first[1]), *(text.rjust(width) for text, width in others)]
        return f"| {' | '.join(padded)} |"

    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return [line(cells[0]), line(rule), *map(line, cells[1:])]


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds * 1000:.2f} ms" if seconds < 0.1 else f"{seconds:.2f} s"


def _ratio(ratio: float | None) -> str:
    return f"{ratio:.2f}" if ratio else ""


def _versions(results: Results) -> list[tuple[str, str]]:
    return [
        (engine, version)
        for engine in ENGINES
        if engine != "hand" and (version := results.version(engine))
    ]


def machine(versions: list[str]) -> str:
    """Where it was measured, and with what."""
    cores = len(os.sched_getaffinity(0))
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return (
        f"{_processor()}, {cores} cores, {memory_gb:.0f} GB, Linux {platform.release()}; "
        f"{', '.join([f'Python {platform.python_version()}', *versions])}."
    )


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
