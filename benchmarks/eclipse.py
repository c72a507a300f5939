"""The suite eclipse: EclipseMR's experiments, with the paper's figures beside ours."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Protocol

from benchmarks.eclipse_compare import EclipseCompare
from benchmarks.eclipse_io import EclipseIo
from benchmarks.eclipse_jobs import EclipseApplications, EclipseConcurrent
from benchmarks.eclipse_laf import EclipseLaf


class EclipsePart(Protocol):
    """One of the experiments."""

    def run(self) -> None: ...

    @property
    def is_well(self) -> bool: ...

    def markdown(self) -> str: ...


class Eclipse:
    """Runs the parts, and reports."""

    def __init__(self, options: argparse.Namespace) -> None:
        scale = options.scale
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
        told = [part.markdown() for part in self.parts]
        return "\n".join(["# EclipseMR", "", f"`{command}`", "", *told])
