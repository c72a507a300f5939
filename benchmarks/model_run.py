"""Run one workload on Pyrite here and leave its story, without the warm-up; print nothing.

python -m benchmarks.model_run MASTER WORKLOAD STORY [--scale small] [--data FOLDER]
"""

import argparse
import importlib
import json
import tempfile
from pathlib import Path

from benchmarks.data import DataFolder
from benchmarks.engines import warm_up
from benchmarks.run_engine import DATA
from benchmarks.stopwatch import Stopwatch
from pyrite import SparkConf, SparkContext

# The same tasks on every master; by default they would be as many as its cores.
PARALLELISM = "4"


def run(master: str, workload_name: str, scale: str, data: Path, story: Path) -> None:
    """Runs the workload and writes the story of its own jobs."""
    workload = importlib.import_module(f"benchmarks.workloads.{workload_name}")
    inputs = workload.inputs(DataFolder(data), scale)
    with tempfile.TemporaryDirectory() as folder:
        conf = SparkConf().setMaster(master).setAppName(workload_name)
        conf.set("spark.eventLog.enabled", "true").set("spark.eventLog.dir", folder)
        conf.set("spark.default.parallelism", PARALLELISM)
        conf.set("spark.ui.showConsoleProgress", "false")
        sc = SparkContext(conf=conf)
        warm_up(sc)
        [path] = Path(folder).iterdir()
        skipped = len(path.read_text().splitlines())
        workload.rdd(sc, inputs, Stopwatch())
        sc.stop()
        lines = path.read_text().splitlines(keepends=True)
    story.write_text("".join(joined(lines[:skipped]) + lines[skipped:]))


def joined(lines: list[str]) -> list[str]:
    """Who came during the warm-up, without what they were told to do then."""
    told = [json.loads(line) for line in lines]
    kinds = "ExecutorJoined", "NodeJoined"
    came = [{**each, "commands": []} for each in told if each["event"]["kind"] in kinds]
    return [json.dumps(each) + "\n" for each in came]


def main() -> None:
    """Read the arguments, run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("master")
    parser.add_argument("workload")
    parser.add_argument("story", type=Path)
    parser.add_argument("--scale", choices=("small", "standard"), default="small")
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    run(options.master, options.workload, options.scale, options.data, options.story)


if __name__ == "__main__":
    main()
