"""Run one workload on one engine in this process; print one line of JSON.

python -m benchmarks.run_engine ENGINE WORKLOAD [--scale small] [--repeat 1] [--data FOLDER]
"""

import argparse
import importlib
import json
import platform
from pathlib import Path
from typing import Any

from benchmarks.data import DataFolder
from benchmarks.engines import ENGINES, start_context, warm_up
from benchmarks.stopwatch import Stopwatch

DATA = Path(__file__).parent.parent / ".bench" / "data"


def run(engine: str, workload: Any, inputs: Any, repeat: int) -> dict[str, Any]:
    """Times by row, other figures, the answer, and the version of what gave it."""
    if engine == "hand":
        runs = [_once(workload.hand, inputs) for _ in range(repeat)]
        version = f"Python {platform.python_version()}"
    elif getattr(workload, "STARTS_CONTEXT", False):
        runs = [_once(workload.rdd, engine, inputs) for _ in range(repeat)]
        version = importlib.import_module(engine).__version__
    else:
        sc = start_context(engine, getattr(workload, "SETTINGS", {}).get(engine, {}))
        warm_up(sc)
        runs = [_once(workload.rdd, sc, inputs) for _ in range(repeat)]
        version = sc.version
        sc.stop()
    watches, answers = zip(*runs, strict=True)
    return {
        "engine": engine,
        "version": version,
        "seconds": {row: [watch.seconds[row] for watch in watches] for row in workload.ROWS},
        "figures": watches[-1].figures,
        "answer": answers[-1],
    }


def _once(program: Any, *args: Any) -> tuple[Stopwatch, Any]:
    watch = Stopwatch()
    answer = program(*args, watch)
    return watch, answer


def main() -> None:
    """Read the arguments, run, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("workload")
    parser.add_argument("--scale", choices=("small", "standard"), default="small")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    workload = importlib.import_module(f"benchmarks.workloads.{options.workload}")
    inputs = workload.inputs(DataFolder(options.data), options.scale)
    print(json.dumps(run(options.engine, workload, inputs, options.repeat)))


if __name__ == "__main__":
    main()
