"""The suite eclipse: EclipseMR's experiments, with the paper's figures beside ours."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from benchmarks.eclipse_compare import EclipseCompare
from benchmarks.eclipse_io import EclipseIo
from benchmarks.eclipse_jobs import EclipseApplications, EclipseConcurrent
from benchmarks.eclipse_laf import EclipseLaf
from benchmarks.report import machine
from benchmarks.scache_plots import Plot, svg
from benchmarks.targets import Target


class EclipsePart(Protocol):
    """One of the experiments."""

    def run(self) -> None: ...

    @property
    def is_well(self) -> bool: ...

    @property
    def targets(self) -> list[Target]: ...

    @property
    def plots(self) -> dict[str, Plot]: ...

    def markdown(self) -> str: ...


class Eclipse:
    """Runs the parts, and reports; plots go beside the report."""

    def __init__(self, options: argparse.Namespace) -> None:
        scale = options.scale
        self.folder: Path = options.out.parent
        self._makers: dict[str, Callable[[], EclipsePart]] = {
            "throughput": lambda: EclipseIo(options.repeat, scale),
            "laf": EclipseLaf,
            "applications": lambda: EclipseApplications(scale),
            "concurrent": lambda: EclipseConcurrent(scale),
            "compare": lambda: EclipseCompare(options),
        }
        self.parts: list[EclipsePart] = []

    def run(self, name: str) -> None:
        print(name, flush=True)
        part = self._makers[name]()
        part.run()
        self.parts.append(part)

    @property
    def is_well(self) -> bool:
        return all(part.is_well for part in self.parts)

    def markdown(self, command: str) -> str:
        told = [line for part in self.parts for line in self._told(part)]
        return "\n".join(["# EclipseMR", "", machine([]), f"Made by `{command}`.", "", *told])

    def _told(self, part: EclipsePart) -> list[str]:
        self.folder.mkdir(parents=True, exist_ok=True)
        names = []
        for name, plot in part.plots.items():
            names.append(f"eclipse-{name}.svg")
            (self.folder / names[-1]).write_text(svg(plot))
        pictures = [f"![{name}]({name})" for name in names]
        return [part.markdown(), *(f"- {target}" for target in part.targets), "", *pictures, ""]
