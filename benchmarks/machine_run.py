"""Run one workload and report the processor time of its rows; print one line of JSON.

python -m benchmarks.machine_run ENGINE WORKLOAD SCALE DATA MODE

Elapsed time says little on a machine that others use; what a program and its processes computed for
does.
"""

import importlib
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from benchmarks.data import DataFolder
from benchmarks.engines import start_context, warm_up
from benchmarks.stopwatch import Stopwatch

# The kind of a process's clock, in Linux: man 3 clock_getcpuclockid.
_SCHEDULED = 2


class ProcessorWatch(Stopwatch):
    """Notes the processor time of this process and its children in place of elapsed time."""

    @contextmanager
    def timed(self, row: str) -> Iterator[None]:
        before = processor_s()
        yield
        self.seconds[row] = processor_s() - before


def processor_s() -> float:
    """What this process and those it started have computed for, the ended ones included."""
    here = psutil.Process()
    total = 0.0
    for process in [here, *here.children(recursive=True)]:
        try:
            times = process.cpu_times()
            # In nanoseconds, where those of psutil are in hundredths of a second.
            total += time.clock_gettime(~process.pid << 3 | _SCHEDULED)
        except (psutil.Error, OSError):
            continue
        total += times.children_user + times.children_system
    return total


def main() -> None:
    """Read the arguments, run, print."""
    engine, name, scale, data, mode = sys.argv[1:]
    workload: Any = importlib.import_module(f"benchmarks.workloads.{name}")
    inputs = workload.inputs(DataFolder(Path(data)), scale)
    watch = ProcessorWatch()
    if engine == "hand":
        answer = workload.hand(inputs, watch)
    else:
        settings = dict(getattr(workload, "SETTINGS", {}).get(engine, {}))
        sc = start_context(engine, {**settings, "pyrite.machine": mode})
        if mode != "eager":
            # Then it is asked what becomes of the workload's functions, and of no others.
            warm_up(sc)
        answer = workload.rdd(sc, inputs, watch)
        sc.stop()
    print(json.dumps({"seconds": watch.seconds, "answer": answer}))


if __name__ == "__main__":
    main()
