"""One program of the suite replay on one engine: prints as JSON whether the record was found.

python -m benchmarks.dask_replay_run ENGINE PROGRAM ROWS KILLS FOLDER

The engine is pyrite or dask. A record is found if the one command that the engine has for it leads
to a frame, or on Pyrite a line, that has the record.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shlex
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.dask_replay_cases import OnDask, OnPyrite, Program

WORKERS = 2
ROOT = Path(__file__).parent


class Found(NamedTuple):
    """What the command led to, and the processor time of the process that ran it."""

    is_found: bool
    says: str
    cpu_s: float


def on_pyrite(name: str, program: Program, folder: Path) -> Found:
    from pyrite import SparkConf, SparkContext

    story = folder / "run.story"
    conf = SparkConf(False).set("pyrite.story.file", str(story)).set("pyrite.story.code", "true")
    with SparkContext(f"local[{WORKERS}]", name, conf=conf) as context:
        try:
            getattr(OnPyrite(context, program), name)()
        except Exception as error:
            message = str(error)
    command = shlex.split(message.strip().splitlines()[-1].partition(": pyrite ")[2])
    before_s = _children_s()
    done = subprocess.run(
        [sys.executable, "-m", "pyrite", *command, "--no-debugger"],
        capture_output=True,
        text=True,
        check=False,
    )
    spent_s = _children_s() - before_s
    lines = [each for each in done.stdout.splitlines() if each.startswith(("record", "operator"))]
    found = any(re.search(rf"record .*\b{program.bad}\b", line) for line in lines)
    return Found(found, "; ".join(lines) or done.stderr[-500:], spent_s)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def on_dask(name: str, program: Program) -> Found:
    import dask
    from distributed import Client, LocalCluster

    # Loopback only, without a dashboard; a worker that is killed comes back.
    place = {"host": "127.0.0.1", "dashboard_address": None, "processes": True}
    dask.config.set({"distributed.worker.dashboard.link": None, "temporary-directory": "/tmp"})
    with (
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, **place) as cluster,
        Client(cluster) as client,
    ):
        ends_first = name == "ended"
        try:
            future = client.compute(getattr(OnDask(program), "map" if ends_first else name)())
        except ValueError:
            return Found(False, "raised as the graph was made: there is no future to ask", 0.0)
        error = future.exception()
        if not isinstance(error, ValueError):
            return Found(False, f"failed otherwise: {error!r}", 0.0)
        if ends_first:
            return _asked_later(client, cluster, future.key)
        began_s = time.process_time()
        try:
            client.recreate_error_locally(future)
        except Exception as raised:
            spent_s = time.process_time() - began_s
            return _seen(raised, program, spent_s)
    return Found(False, "nothing was raised", 0.0)


def _asked_later(client: Any, cluster: Any, key: Any) -> Found:
    """Whether the scheduler still knows the task when the program's client has gone."""
    from distributed import Client

    client.close()
    with Client(cluster) as other:
        known = other.run_on_scheduler(lambda dask_scheduler: key in dask_scheduler.tasks)
    return Found(known, "" if known else "the scheduler has forgotten the task", 0.0)


def _seen(raised: Exception, program: Program, spent_s: float) -> Found:
    """Whether a frame of the program's own has the record, here and not only in a copied text."""
    for frame, line in traceback.walk_tb(raised.__traceback__):
        code = frame.f_code
        if Path(code.co_filename).parent == ROOT and code.co_name == "refuse":
            found = frame.f_locals.get("x") == program.bad
            return Found(found, f"{code.co_name}, line {line}: x = {program.bad}", spent_s)
    return Found(False, f"{type(raised).__name__}: {raised}", spent_s)


def main(engine: str, name: str, rows: str, kills: str, folder: str) -> None:
    killed = os.path.join(folder, "killed") if kills == "kills" else None
    program = Program(int(rows), killed)
    if engine == "pyrite":
        found = on_pyrite("map" if name == "ended" else name, program, Path(folder))
    else:
        found = on_dask(name, program)
    if killed is not None and not os.path.exists(killed):
        found = Found(False, "no process was killed", 0.0)
    print("RESULT", json.dumps(found), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
