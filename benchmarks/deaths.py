"""How soon deaths on Ray are known, and how soon nothing is left of a killed driver."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Mapping

from benchmarks.targets import Target

EXECUTOR = "an executor is killed"
NODE = "all of a node is killed"
SILENT = "a node falls silent (SIGSTOP)"
DRIVER = "the driver is killed: nothing left on any node"
BOUNDS_S = {EXECUTOR: 0.5, NODE: 1.0, SILENT: 5.0, DRIVER: 10.0}


class Deaths:
    """Each kind of death, as often as wanted, while both nodes run tasks."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {}
        self.is_well = True

    def run(self, address: str, environment: Mapping[str, str]) -> None:
        command = [sys.executable, "-m", "benchmarks.ray_deaths_run", address]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        lines = [each for each in done.stdout.splitlines() if each.startswith("RESULT ")]
        if not lines:
            self.is_well = False
            print(f"deaths failed:\n{done.stderr[-2000:]}", file=sys.stderr, flush=True)
            return
        for what, seconds in json.loads(lines[-1].removeprefix("RESULT ")).items():
            print(f"{what}: {seconds:.3f} s", flush=True)
            self.seconds.setdefault(what, []).append(seconds)

    def lines(self) -> list[str]:
        """The table, in Markdown."""
        found = ["", "| death | median | worst | bound |", "|---|---|---|---|"]
        for what, seconds in self.seconds.items():
            cells = [statistics.median(seconds), max(seconds), BOUNDS_S[what]]
            found.append(f"| {what} | " + " | ".join(f"{each:.3g} s" for each in cells) + " |")
        return found

    def targets(self) -> list[Target]:
        return [
            Target(f"{what}, worst", max(seconds), BOUNDS_S[what], unit="s")
            for what, seconds in self.seconds.items()
        ]
