"""One pool out of every node's memory: R3S's figure 4, block reads, peaks and the two switches.

Every row runs in a fresh process (benchmarks.r3s_run), the rows by turns.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.data import DataFolder
from benchmarks.model import Disturbance
from benchmarks.peak import run_watched
from benchmarks.r3s_cases import ROWS, Row
from benchmarks.r3s_large import WAYS as LARGE_WAYS
from benchmarks.r3s_pagecache import DiskSpeed, disk_speed
from benchmarks.r3s_regression import text_file
from benchmarks.r3s_report import Found, Measured, markdown
from benchmarks.r3s_run import Plan
from benchmarks.r3s_switches import SWITCHES
from benchmarks.remote_blocks import BlockTimes

PARTITIONS = {"small": 64, "standard": 192}
# A task takes PySpark tens of milliseconds, so that one repetition takes as long as all others.
MOST_PYSPARK_RUNS = 1
BLOCK_REPEATS = {"small": 20, "standard": 200}


class R3s:
    """Runs the parts asked for, each row in a fresh process, and reports."""

    def __init__(
        self,
        repeat: int,
        scale: str,
        partitions: int | None,
        engines: list[str],
        data: Path,
        timeout_s: float,
        environment: Callable[[str], dict[str, str]],
    ) -> None:
        self.repeat = repeat
        self.scale = scale
        self.engines = engines
        self.partitions = partitions or PARTITIONS[scale]
        self.data = data
        self.timeout_s = timeout_s
        self.environment = environment
        self.pythons = {
            "pyrite": sys.executable,
            "pyspark": os.environ.get("PYRITE_BENCH_PYSPARK", sys.executable),
        }
        self.measured = Measured(self.partitions, repeat)

    def run(self, part: str) -> None:
        """One part: `whole`, `half`, `large`, `blocks` or `switches`."""
        print(part, flush=True)
        if part == "blocks":
            self._run_blocks()
        elif part == "switches":
            self._run_switches()
        elif part == "large":
            self._run_large()
        else:
            self._run_figure(part)

    def markdown(self, command: str) -> str:
        return markdown(self.measured, command)

    @property
    def is_well(self) -> bool:
        return self.measured.is_well

    def _run_figure(self, part: str) -> None:
        rows = [row for row in ROWS[part] if row.engine in self.engines]
        self.data.mkdir(parents=True, exist_ok=True)
        path = text_file(DataFolder(self.data), self.partitions)
        if self.measured.disk is None:
            self.measured.disk = self._disk_speed()
        for turn in range(self.repeat):
            for row in list(rows):
                if row.engine == "pyspark" and turn >= MOST_PYSPARK_RUNS:
                    continue
                if not self._run_row(part, row, path):
                    rows.remove(row)

    def _disk_speed(self) -> DiskSpeed:
        with tempfile.TemporaryDirectory(dir=self.data) as folder:
            return disk_speed(Path(folder))

    def _run_row(self, part: str, row: Row, path: str) -> bool:
        # Beside the data, which lie on a disk: temporary folders often lie in memory.
        scratch = tempfile.mkdtemp(prefix="scratch-", dir=self.data.resolve())
        plan = Plan(
            engine=row.engine,
            level=row.level,
            settings=row.settings_for(self.partitions, scratch),
            partitions=self.partitions,
            input=path,
            scratch=scratch,
            is_cold_too=row.is_cold_too,
            executor_bytes=row.executor_bytes(self.partitions),
            filler_bytes=row.filler_bytes(self.partitions),
        )
        python = self.pythons[row.engine]
        command = [python, "-m", "benchmarks.r3s_run", json.dumps(asdict(plan))]
        name = f"{row.name} ({row.engine})"
        watch = Disturbance()
        try:
            watched = run_watched(command, self.environment(python), self.timeout_s)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        if watched.returncode:
            self._fail(name, watched.stderr)
            return False
        outcome = json.loads(watched.stdout.splitlines()[-1])
        found = self.measured.rows.setdefault((part, row.name, row.engine), Found(row))
        found.add(outcome, watched.peak_bytes, watch.cores())
        cold = f", cold {outcome['cold_s']:.2f} s" if row.is_cold_too else ""
        print(
            f"{row.engine:>8}: {row.name}: first pass {outcome['first_s']:.2f} s, "
            f"steps {outcome['steps_s']:.2f} s{cold}, {watched.peak_bytes / 1e6:.0f} MB",
            flush=True,
        )
        return True

    def _run_blocks(self) -> None:
        repeat = str(BLOCK_REPEATS[self.scale])
        lines = self._answer("benchmarks.remote_blocks", "--json", "--repeat", repeat)
        self.measured.blocks = [BlockTimes(**each) for each in lines]

    def _run_switches(self) -> None:
        for _ in range(self.repeat):
            for name in SWITCHES:
                for state in ("true", "false"):
                    for answer in self._answer("benchmarks.r3s_switches", name, state):
                        self.measured.switches.setdefault((name, state), []).append(answer)
                        print(f"{name:>9} {state}: {answer}", flush=True)

    def _run_large(self) -> None:
        for _ in range(self.repeat):
            for name in LARGE_WAYS:
                for answer in self._answer("benchmarks.r3s_large", name):
                    self.measured.large.setdefault(name, []).append(answer)
                    print(f"  {name}: {answer}", flush=True)

    def _answer(self, module: str, *arguments: str) -> list[Any]:
        """What a program of ours prints: a line of JSON for each answer."""
        with tempfile.TemporaryDirectory(prefix="scratch-", dir=self._folder()) as scratch:
            done = subprocess.run(
                [sys.executable, "-m", module, *arguments],
                env={**self.environment(sys.executable), "TMPDIR": scratch},
                timeout=self.timeout_s,
                capture_output=True,
                text=True,
            )
        if done.returncode:
            self._fail(" ".join([module, *arguments]), done.stderr)
            return []
        return [json.loads(line) for line in done.stdout.splitlines()]

    def _folder(self) -> Path:
        self.data.mkdir(parents=True, exist_ok=True)
        return self.data.resolve()

    def _fail(self, name: str, stderr: str) -> None:
        tail = stderr.strip()[-2000:]
        print(f"{name} failed:\n{tail}\n", file=sys.stderr, flush=True)
        self.measured.failures.append(f"{name} failed: {tail.rpartition(chr(10))[2]}")
