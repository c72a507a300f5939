"""Run one workload on Pyrite here and leave its story, without the warm-up; print nothing.

python -m benchmarks.model_run MASTER WORKLOAD STORY [--network 20m] [--scale small] [--data FOLDER]
"""

import argparse
import importlib
import tempfile
from pathlib import Path

from benchmarks.data import DataFolder
from benchmarks.engines import warm_up
from benchmarks.run_engine import DATA
from benchmarks.stopwatch import Stopwatch
from pyrite import SparkConf, SparkContext
from pyrite.story.read import StoryReader
from pyrite.story.records import ExecutorAdded, NodeAdded, Record
from pyrite.story.write import StoryWriter

# The same tasks on every master; by default they would be as many as its cores.
PARALLELISM = "4"


def run(master: str, workload_name: str, scale: str, data: Path, story: Path, network: str) -> None:
    """Runs the workload and writes the story of its own jobs."""
    workload = importlib.import_module(f"benchmarks.workloads.{workload_name}")
    inputs = workload.inputs(DataFolder(data), scale)
    with tempfile.TemporaryDirectory() as folder:
        conf = SparkConf().setMaster(master).setAppName(workload_name)
        conf.set("spark.eventLog.enabled", "true").set("spark.eventLog.dir", folder)
        conf.set("spark.default.parallelism", PARALLELISM)
        conf.set("pyrite.network.bytesPerSecond", network)
        conf.set("spark.ui.showConsoleProgress", "false")
        sc = SparkContext(conf=conf)
        warm_up(sc)
        warm_s = sc._engine.cluster.now_s()
        workload.rdd(sc, inputs, Stopwatch())
        sc.stop()
        [path] = Path(folder).iterdir()
        with StoryReader(path) as reader:
            records = [each for each in reader.records() if is_of_workload(each, warm_s)]
            header = reader.header
    writer = StoryWriter(str(story), header, threaded=False)
    writer.add(records)
    writer.close()


def is_of_workload(record: Record, warm_s: float) -> bool:
    """Whether it is of the workload, or tells who came during the warm-up."""
    return record.at_s >= warm_s or isinstance(record, ExecutorAdded | NodeAdded)


def main() -> None:
    """Read the arguments, run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("master")
    parser.add_argument("workload")
    parser.add_argument("story", type=Path)
    parser.add_argument("--network", default="0", help="what each node may send in a second")
    parser.add_argument("--scale", choices=("small", "standard"), default="small")
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    place = options.data, options.story
    run(options.master, options.workload, options.scale, *place, options.network)


if __name__ == "__main__":
    main()
