"""The suite stark: Stark's experiments on collections, with the paper's figures beside ours."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from benchmarks.report import machine
from benchmarks.scache_plots import Plot, svg
from benchmarks.stark_checkpoints import Checkpointing
from benchmarks.stark_cogroup import Cogroups
from benchmarks.stark_day import DayTrace
from benchmarks.stark_partitions import Partitions
from benchmarks.stark_sizes import Sizes
from benchmarks.stark_skew import Skew
from benchmarks.stark_skew_jobs import SkewJobs
from benchmarks.stark_throughput import Throughput
from benchmarks.targets import Target


class Part(Protocol):
    """One experiment."""

    def run(self) -> None: ...

    @property
    def targets(self) -> list[Target]: ...

    @property
    def plots(self) -> dict[str, Plot]: ...

    def markdown(self) -> str: ...


class Stark:
    """Runs the parts, and reports; plots go beside the report."""

    def __init__(
        self, options: argparse.Namespace, environment: Callable[[str], dict[str, str]]
    ) -> None:
        small = options.scale == "small"
        self.folder: Path = options.out.parent
        self.known: dict[str, Part] = {
            "throughput": Throughput(small),
            "day": DayTrace(small),
            "checkpoints": Checkpointing(),
            "sizes": Sizes(small),
            "skew": Skew(),
            "skew_jobs": SkewJobs(),
            "cogroup": Cogroups(options, environment),
            "partitions": Partitions(options.repeat, small),
        }
        self.ran: list[Part] = []

    def run(self, name: str) -> None:
        print(name, flush=True)
        part = self.known[name]
        part.run()
        self.ran.append(part)

    @property
    def is_well(self) -> bool:
        return all(target.is_met for part in self.ran for target in part.targets)

    def markdown(self, command: str) -> str:
        told = [line for part in self.ran for line in self._told(part)]
        return "\n".join(["# Stark", "", machine([]), f"Made by `{command}`.", "", *told])

    def _told(self, part: Part) -> list[str]:
        self.folder.mkdir(parents=True, exist_ok=True)
        names = []
        for name, plot in part.plots.items():
            names.append(f"stark-{name}.svg")
            (self.folder / names[-1]).write_text(svg(plot))
        pictures = [f"![{name}]({name})" for name in names]
        return [part.markdown(), *(f"- {target}" for target in part.targets), "", *pictures, ""]
