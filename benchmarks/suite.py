"""Run a suite, report: on all engines by turns, whose answers must agree, or the scheduler, the
simulator, the pool or the shuffle alone.

The arguments are those of scripts/bench.
"""

import argparse
import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from benchmarks.data import DataFolder
from benchmarks.engines import ENGINES
from benchmarks.peak import run_watched
from benchmarks.report import markdown
from benchmarks.results import Results

ROOT = Path(__file__).parent.parent
SUITES = {
    "engine": [
        "word_count",
        "log_search",
        "inverted_index",
        "sort_records",
        "group_by_key",
        "cached_join",
        "regression_by_record",
        "regression_by_block",
        "k_means",
        "page_rank",
        "skewed_keys",
        "tiny_jobs",
        "empty_tasks",
        "numeric",
        "larger_than_memory",
        "start",
        "growth",
    ],
    "scale": ["shuffle", "kept", "fair", "losses", "outages", "costed", "agents"],
    "model": [
        "word_count",
        "inverted_index",
        "sort_records",
        "group_by_key",
        "cached_join",
        "regression_by_record",
        "k_means",
        "page_rank",
        "skewed_keys",
    ],
    "r3s": ["whole", "half", "large", "blocks", "switches"],
    "scache": [
        "group_by",
        "map_times",
        "sweeps",
        "terasort",
        "locality",
        "sampling",
        "traces",
        "prediction",
        "cluster",
        "gigabyte",
        "wide",
    ],
    "eclipse": ["throughput", "laf", "applications", "concurrent", "compare"],
    "ray": [
        "word_count",
        "sort",
        "group_by_key",
        "regression",
        "tiny_jobs",
        "many_tasks",
        "broadcast",
        "deaths",
    ],
    "story": [
        "empty_tasks",
        "memory",
        "page",
        "word_count",
        "log_search",
        "inverted_index",
        "sort_records",
        "group_by_key",
        "cached_join",
        "regression_by_record",
        "k_means",
        "page_rank",
        "skewed_keys",
        "tiny_jobs",
    ],
    "replay": [
        "map",
        "reduce",
        "join",
        "join_list",
        "cogroup",
        "sort",
        "sort_key",
        "ended",
    ],
    "stark": [
        "throughput",
        "day",
        "checkpoints",
        "sizes",
        "skew",
        "skew_jobs",
        "cogroup",
        "partitions",
    ],
    "machine": [
        "numeric",
        "regression_by_record",
        "k_means",
        "page_rank",
        "word_count",
        "log_search",
        "inverted_index",
        "group_by_key",
        "skewed_keys",
        "cached_join",
        "sort_records",
    ],
}


class Runner:
    """Starts one process per workload, engine and repetition, and gathers what they report."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.results = Results()
        pyspark = os.environ.get("PYRITE_BENCH_PYSPARK")
        self._pythons = {"pyspark": pyspark} if pyspark else {}

    def run(self, name: str) -> None:
        """All repetitions of a workload, the engines by turns."""
        workload = importlib.import_module(f"benchmarks.workloads.{name}")
        workload.inputs(DataFolder(self.options.data), self.options.scale)
        able = getattr(workload, "ENGINES", ENGINES)
        engines = [engine for engine in self.options.engines if engine in able]
        for _ in range(min(self.options.repeat, getattr(workload, "REPEAT", sys.maxsize))):
            for engine in list(engines):
                if not self._run_once(name, engine):
                    engines.remove(engine)

    def _run_once(self, name: str, engine: str) -> bool:
        options = self.options
        python = self._pythons.get(engine, sys.executable)
        command = [python, "-m", "benchmarks.run_engine", engine, name]
        command += ["--scale", options.scale, "--data", str(options.data)]
        watched = run_watched(command, _environment(python), options.timeout)
        if watched.returncode:
            tail = watched.stderr.strip()[-2000:]
            print(f"{name} on {engine} failed:\n{tail}\n", file=sys.stderr, flush=True)
            last_line = tail.rpartition("\n")[2]
            self.results.failures.append(f"{name} failed on {engine}: {last_line}")
            return False
        report = json.loads(watched.stdout.splitlines()[-1])
        self.results.of(name, engine).add(report, watched.peak_bytes)
        times = ", ".join(f"{row} {times[0]:.4f} s" for row, times in report["seconds"].items())
        print(f"{engine:>8}: {times}, {watched.peak_bytes / 1e6:.0f} MB", flush=True)
        return True


def _environment(python: str) -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    # Two cores for each engine: one thread of BLAS in each of the two processes.
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    interpreters = {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python}
    return {**os.environ, **threads, **interpreters, "PYTHONPATH": path}


def parsed(arguments: list[str]) -> argparse.Namespace:
    """The options; lists are given with commas."""
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Benchmarks of Pyrite against PySpark and hand-written programs, and of its "
        "scheduler on large clusters.",
        epilog=" ".join(f"Workloads of {suite}: {', '.join(SUITES[suite])}." for suite in SUITES)
        + " PYRITE_BENCH_TRACES names the folder of SWIM's traces: without it traces is left out.",
    )
    parser.add_argument("--suite", choices=SUITES, default="engine")
    parser.add_argument("--only", type=_names, default=[], metavar="WORKLOAD,...")
    parser.add_argument("--repeat", type=int, default=3, metavar="N")
    parser.add_argument("--scale", choices=("small", "standard"), default="standard")
    parser.add_argument("--engines", type=_names, default=list(ENGINES), metavar="ENGINE,...")
    parser.add_argument("--out", type=Path, default=ROOT / ".bench" / "results.md")
    parser.add_argument("--data", type=Path, default=ROOT / ".bench" / "data")
    parser.add_argument(
        "--partitions",
        type=int,
        metavar="N",
        help="of suite r3s: cached partitions of 1 MB, best a multiple of 64",
    )
    parser.add_argument("--timeout", type=float, default=600, metavar="SECONDS", help="per run")
    options = parser.parse_args(arguments)
    _check_names(parser, "--only", options.only, SUITES[options.suite])
    _check_names(parser, "--engines", options.engines, ENGINES)
    return options


def _names(text: str) -> list[str]:
    return text.split(",")


def _check_names(parser: Any, option: str, given: list[str], known: Any) -> None:
    if strangers := [name for name in given if name not in known]:
        parser.error(f"{option}: unknown {', '.join(strangers)}; known are {', '.join(known)}")


def main() -> None:
    """Run what was asked for; the exit code says whether all went well."""
    options = parsed(sys.argv[1:])
    command = " ".join(["scripts/bench", *sys.argv[1:]])
    runs = {
        "engine": run_engines,
        "scale": run_scale,
        "model": run_model,
        "r3s": run_r3s,
        "scache": run_scache,
        "eclipse": run_eclipse,
        "ray": run_ray,
        "story": run_story,
        "replay": run_replay,
        "stark": run_stark,
        "machine": run_machine,
    }
    run = runs[options.suite]
    report, is_well = run(options, command)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(report)
    print(f"\n{report}\nwritten to {options.out}")
    sys.exit(0 if is_well else 1)


def run_engines(options: argparse.Namespace, command: str) -> tuple[str, bool]:
    """The report on the engines, and whether all ran and agreed."""
    runner = Runner(options)
    for name in options.only or SUITES[options.suite]:
        print(f"{name}", flush=True)
        runner.run(name)
    report = markdown(runner.results, options.scale, options.repeat, command)
    return report, not (runner.results.failures or runner.results.disagreements())


def run_scale(options: argparse.Namespace, command: str) -> tuple[str, bool]:
    """The report on the scheduler, and whether all grew with the work only."""
    # Here, so that --help needs nothing to be installed.
    from benchmarks.scale import Scale
    from benchmarks.scale_agents import Agents
    from benchmarks.scale_costed import Costed

    environment = _environment(sys.executable)
    small = options.scale == "small"
    scale = Scale(options.repeat, small, options.timeout)
    costed = Costed(small, options.timeout)
    agents = Agents(options.repeat, small, options.timeout)
    for name in options.only or SUITES[options.suite]:
        if name == "costed":
            costed.run(environment)
        elif name == "agents":
            agents.run(environment)
        else:
            scale.run(name, environment)
    report = scale.markdown(command) + costed.markdown() + agents.markdown()
    return report, scale.is_linear and agents.is_flat


def run_model(options: argparse.Namespace, command: str) -> tuple[str, bool]:
    """The report on the simulator, and whether it foretold what was measured then."""
    from benchmarks.model import Model

    model = Model(options.repeat, options.scale, options.data, options.timeout)
    for name in options.only or SUITES[options.suite]:
        model.run(name, _environment(sys.executable))
    return model.markdown(command), model.is_near


def run_machine(options: argparse.Namespace, command: str) -> tuple[str, bool]:
    """The report on the row machine, and whether all answers agree."""
    from benchmarks.machine import RowMachine

    machine = RowMachine(options.repeat, options.scale, options.data, options.timeout)
    for name in options.only or SUITES[options.suite]:
        machine.run(name, _environment(sys.executable))
    return machine.markdown(command), machine.is_well


def run_ray(options: argparse.Namespace, command: str) -> tuple[str, bool]:
    """The report on Ray, and whether all engines ran and agreed."""
    from benchmarks.rays import Rays

    rays = Rays(options.repeat, options.scale)
    for name in options.only or SUITES[options.suite]:
        rays.run(name)
    return rays.markdown(command), rays.is_well


def run_r3s(options: argparse.Namespace, command: str) -> tuple[str, bool]:
    """The report on the pool, and whether it shows what it must."""
    from benchmarks.r3s import R3s

    r3s = R3s(
        options.repeat,
        options.scale,
        options.partitions,
        options.engines,
        options.data,
        options.timeout,
        _environment,
    )
    for name in options.only or SUITES[options.suite]:
        r3s.run(name)
    return r3s.markdown(command), r3s.is_well


def run_scache(options: argparse.Namespace, command: str) -> tuple[str, bool]:
    """The report on the shuffle, and whether it shows what it must; plots go beside the report."""
    from benchmarks import scache_real
    from benchmarks.scache import Scache

    scache = Scache(options.scale, options.out.parent)
    runner = Runner(options)
    real = scache_real.Real(
        options.repeat,
        options.scale,
        options.timeout,
        _environment(sys.executable),
        runner.run,
        runner.results,
    )
    for name in options.only or SUITES[options.suite]:
        if name in scache_real.PARTS:
            real.run(name)
        else:
            scache.run(name)
    return scache.markdown(command) + real.markdown(), scache.is_well and real.is_well


def run_stark(options: argparse.Namespace, command: str) -> tuple[str, bool]:
    """The report on collections, and whether what was promised holds; plots go beside it."""
    from benchmarks.stark import Stark

    stark = Stark(options, _environment)
    for name in options.only or SUITES[options.suite]:
        stark.run(name)
    return stark.markdown(command), stark.is_well


def run_eclipse(options: argparse.Namespace, command: str) -> tuple[str, bool]:
    """The report on files and places by keys, and whether it shows what it must."""
    from benchmarks.eclipse import Eclipse

    eclipse = Eclipse(options)
    for name in options.only or SUITES[options.suite]:
        eclipse.run(name)
    return eclipse.markdown(command), eclipse.is_well


def run_story(options: argparse.Namespace, command: str) -> tuple[str, bool]:
    """The report on what the story costs, and whether that is little."""
    from benchmarks.story import Story

    environment = _environment(sys.executable)
    story = Story(options.repeat, options.scale, options.data, options.timeout, environment)
    for name in options.only or SUITES[options.suite]:
        story.run(name)
    return story.markdown(command), story.is_well


def run_replay(options: argparse.Namespace, command: str) -> tuple[str, bool]:
    """The report on failed records beside Dask, and whether Pyrite finds them all."""
    from benchmarks.dask_replay import Replays

    replays = Replays(options.scale, options.timeout, _environment(sys.executable))
    for name in options.only or SUITES[options.suite]:
        replays.run(name)
    return replays.markdown(command), replays.is_well


if __name__ == "__main__":
    main()
