"""What the story costs: runs without it, with it, and with code in it, by turns.

A part of scripts/bench --suite story.
"""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from math import exp, fsum, log
from pathlib import Path
from statistics import median

from benchmarks.story_page import PageTimes, measure_page
from benchmarks.targets import Target

WAYS = {
    "without": "",
    "story": "pyrite.story.file={file}",
    "with code": "pyrite.story.file={file},pyrite.story.code=true",
}
TASKS = {"small": 400, "standard": 2_000}
# Jobs of a thousand tasks each: a million in all.
JOBS = {"small": 20, "standard": 1_000}
PAGE_TASKS = {"small": 2_000, "standard": 100_000}
# What the story may cost, as shares, and bytes.
MOST_EMPTY = 1.10
MOST_MEAN = 1.03
MOST_CODE = 0.01
MOST_BYTES = 80
# From the first tenth of a million tasks to the end.
MOST_GROWTH = 1.1
# Only in the driver: executors are other processes.
EMPTY = """
import json, os, sys, time
from pyrite import SparkContext

sc = SparkContext("local[2]", "story")
tasks = int(sys.argv[1])
sc.parallelize(range(200), 200).foreachPartition(lambda rows: None)
spent = []
for _ in range(3):
    began_s = time.process_time()
    sc.parallelize(range(tasks), tasks).foreachPartition(lambda rows: None)
    spent.append(time.process_time() - began_s)
path = sc._chronicle.path
sc.stop()
size = os.path.getsize(path) if path else 0
print(json.dumps([min(spent), size / (200 + 3 * tasks)]))
"""

MEMORY = """
import json, sys
from pyrite import SparkContext

def held_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) << 12

sc = SparkContext("local[2]", "story")
jobs = int(sys.argv[1])
held = {}
for number in range(1, jobs + 1):
    sc.parallelize(range(1000), 1000).foreachPartition(lambda rows: None)
    if number in (jobs // 10, jobs):
        held[number * 1000] = held_bytes()
sc.stop()
print(json.dumps(list(held.items())))
"""


@dataclass
class Story:
    """Measures, and reports."""

    repeat: int
    scale: str
    data: Path
    timeout: float
    environment: dict[str, str]
    empty: dict[str, list[list[float]]] = field(default_factory=dict)
    memory: list[tuple[int, float]] = field(default_factory=list)
    page: PageTimes | None = None
    seconds: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    def run(self, name: str) -> None:
        print(name, flush=True)
        if name == "empty_tasks":
            for _ in range(self.repeat):
                for way in WAYS:
                    found = self._run(way, ["-c", EMPTY, str(TASKS[self.scale])])
                    self.empty.setdefault(way, []).append(found)
        elif name == "memory":
            self.memory = self._run("story", ["-c", MEMORY, str(JOBS[self.scale])])
        elif name == "page":
            with tempfile.TemporaryDirectory() as folder:
                story = Path(folder, "run.story")
                self.page = measure_page(PAGE_TASKS[self.scale], story, self.environment)
        else:
            # Processor time, of executors too: others may use the machine.
            command = ["-m", "benchmarks.machine_run", "pyrite", name]
            command += [self.scale, str(self.data), "true"]
            for _ in range(self.repeat):
                for way in WAYS:
                    report = self._run(way, command)
                    spent = fsum(report["seconds"].values())
                    self.seconds.setdefault(name, {}).setdefault(way, []).append(spent)

    def _run(self, way: str, command: list[str]):  # type: ignore[no-untyped-def]
        with tempfile.TemporaryDirectory() as folder:
            conf = WAYS[way].format(file=os.path.join(folder, "run.story"))
            environment = {**self.environment, "PYRITE_CONF": conf}
            done = subprocess.run(
                [sys.executable, *command],
                env=environment,
                capture_output=True,
                text=True,
                timeout=self.timeout,
                check=False,
            )
            if done.returncode:
                raise RuntimeError(f"{command} failed {way}: {done.stderr[-2000:]}")
            return json.loads(done.stdout.splitlines()[-1])

    def ratio(self, way: str) -> float:
        """The geometric mean over the workloads, against runs without a story."""
        logs = [
            log(median(times[way]) / median(times["without"])) for times in self.seconds.values()
        ]
        return exp(fsum(logs) / len(logs)) if logs else 1.0

    def empty_ratio(self, way: str) -> float:
        def least(each: str) -> float:
            return min(found[0] for found in self.empty[each])

        return least(way) / least("without") if self.empty else 1.0

    @property
    def task_bytes(self) -> float:
        return max((found[1] for found in self.empty.get("story", ())), default=0.0)

    @property
    def growth(self) -> float:
        """The driver's memory at the end, over that after a tenth of the tasks."""
        return self.memory[-1][1] / self.memory[0][1] if self.memory else 1.0

    def targets(self) -> list[Target]:
        """What the story may cost, each with what was measured of it."""
        found = []
        if self.empty:
            ratio = self.empty_ratio("story")
            found.append(Target("empty tasks, with a story over without", ratio, MOST_EMPTY))
            found.append(Target("a task on disk", self.task_bytes, MOST_BYTES, unit="bytes"))
        if self.memory:
            what = "the driver's memory at the end over that after a tenth of the tasks"
            found.append(Target(what, self.growth, MOST_GROWTH))
        if self.seconds:
            ratio, more = self.ratio("story"), self.ratio("with code") - self.ratio("story")
            found.append(Target("geometric mean, with a story over without", ratio, MOST_MEAN))
            found.append(Target("what code in it adds to that", more, MOST_CODE))
        return found + (self.page.targets() if self.page is not None else [])

    @property
    def is_well(self) -> bool:
        return all(target.is_met for target in self.targets())

    def markdown(self, command: str) -> str:
        lines = [f"# What the story costs\n\n`{command}`\n"]
        if self.empty:
            tasks = TASKS[self.scale]
            lines.append(f"| {tasks} empty tasks | driver's processor time | bytes a task |")
            lines.append("|---|---|---|")
            for way in WAYS:
                found = self.empty[way]
                spent, size = min(each[0] for each in found), found[-1][1]
                share = f"{self.empty_ratio(way) - 1:+.1%}"
                lines.append(f"| {way} | {spent:.3f} s ({share}) | {size:.1f} |")
            lines.append("")
        for tasks, held in self.memory:
            lines.append(f"- after {tasks:,} tasks the driver held {held / 1e6:.1f} MB")
        if self.page is not None:
            page = self.page
            lines.append(
                f"- a page of {page.tasks:,} tasks: read in {page.read_s:.2f} s; first view "
                f"{page.page_s:.2f} s, {page.page_elements} elements; largest stage "
                f"{page.stage_s:.2f} s, {page.stage_elements} elements"
            )
        if self.seconds:
            lines.append("\nProcessor time of the driver and its executors:")
            lines.append("\n| workload | without | story | with code |\n|---|---|---|---|")
            for name, times in self.seconds.items():
                cells = " | ".join(f"{median(times[way]):.3f} s" for way in WAYS)
                lines.append(f"| {name} | {cells} |")
            shares = " | ".join(f"{self.ratio(way) - 1:+.1%}" for way in WAYS)
            lines.append(f"| geometric mean | {shares} |")
        lines += ["\nWhat the suite must show, and whether it did:\n"]
        lines += [f"- {target}" for target in self.targets()]
        return "\n".join(lines) + "\n"
