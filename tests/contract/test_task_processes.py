"""Processes that tasks start live no longer than their executor, or their context."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any

import psutil
import pytest
from marks import Marks, wait_until
from programs import alive, start_program

from pyrite import SparkContext
from pyrite.errors import JobCancelled

Start = Callable[..., SparkContext]

LONG_S = 1000


def start_processes() -> dict[str, int]:
    """Starts a process in each way, in a task; gives their ids."""
    worker = multiprocessing.get_context("fork").Process(target=time.sleep, args=(LONG_S,))
    worker.start()
    command = ["sleep", str(LONG_S)]
    return {
        "subprocess": subprocess.Popen(command).pid,
        "shell": subprocess.Popen(f"sleep {LONG_S} & sleep {LONG_S}", shell=True).pid,
        "multiprocessing": worker.pid or 0,
        "fork": fork(),
        "group": subprocess.Popen(command, process_group=0).pid,
        "session": subprocess.Popen(command, start_new_session=True).pid,
        "daemon": daemonize(),
    }


def fork() -> int:
    pid = os.fork()
    if pid == 0:
        time.sleep(LONG_S)
    return pid


def daemonize() -> int:
    """A process that has left its session, and whose parent has ended."""
    read, write = os.pipe()
    parent = os.fork()
    if parent == 0:
        os.setsid()
        pid = os.fork()
        if pid == 0:
            time.sleep(LONG_S)
        os.write(write, str(pid).encode())
        os._exit(0)
    os.waitpid(parent, 0)
    pid = int(os.read(read, 100))
    os.close(read)
    os.close(write)
    return pid


Started = dict[str, psutil.Process]


def named(pids: dict[str, int]) -> Started:
    return {name: psutil.Process(pid) for name, pid in pids.items()}


@pytest.fixture
def run() -> Iterator[Callable[[SparkContext], Started]]:
    """Starts processes in a task; whatever is left of them ends with the test."""
    started: Started = {}

    def run_task(sc: SparkContext) -> Started:
        [pids] = sc.parallelize([1], 1).map(lambda _: start_processes()).collect()
        started.update(named(pids))
        # The executor lives on, and so do they.
        assert len(alive(list(started.values()))) == len(pids)
        return started

    yield run_task
    for process in alive(list(started.values())):
        process.kill()


def wait_for_ends(started: Started, *without: str) -> None:
    wanted = {name: each for name, each in started.items() if name not in without}
    wait_until(lambda: not alive(list(wanted.values())), f"the ends of {sorted(wanted)}")


@pytest.mark.parametrize("master", ["local[1]", "local-cluster[1,1,512m]"])
def test_they_end_with_the_context(start: Start, run: Any, master: str) -> None:
    sc = start(master)
    started = run(sc)
    sc.stop()
    wait_for_ends(started)


def test_they_end_with_an_executor_that_is_killed(start: Start, run: Any) -> None:
    sc = start("local[1]")
    started = run(sc)
    started["shell"].parent().kill()
    # Those that have left its session end with the context.
    wait_for_ends(started, "session", "daemon")
    assert sc.parallelize(range(4), 2).count() == 4
    sc.stop()
    wait_for_ends(started)


def test_they_end_with_a_fork_server_that_is_killed(start: Start, run: Any) -> None:
    sc = start("local[1]")
    started = run(sc)
    sc._engine.cluster.driver.fork_server.process.kill()  # type: ignore[attr-defined]
    wait_for_ends(started, "session", "daemon")
    assert sc.parallelize(range(4), 2).count() == 4


def test_they_end_with_a_task_that_does_not_stop(start: Start, marks: Marks) -> None:
    sc = start("local[1]", pyrite__cancel__grace="100ms")

    def never_end(_: int) -> None:
        for name, pid in start_processes().items():
            marks.add(f"{name}={pid}")
        marks.add("there")
        while True:
            with contextlib.suppress(BaseException):
                time.sleep(LONG_S)

    def run_job() -> None:
        with pytest.raises(JobCancelled):
            sc.parallelize([1], 1).foreach(never_end)

    job = Thread(target=run_job)
    job.start()
    marks.wait("there")
    pids = dict(name.split("=") for name in marks.counts() if "=" in name)
    started = named({name: int(pid) for name, pid in pids.items()})
    sc.cancelAllJobs()
    job.join()
    wait_for_ends(started, "daemon")
    sc.stop()
    wait_for_ends(started)


PROGRAM = """
import test_task_processes
from pyrite import SparkContext
sc = SparkContext("local[1]")
[pids] = sc.parallelize([1], 1).map(lambda _: test_task_processes.start_processes()).collect()
print(pids, flush=True)
input()
"""


def test_they_end_with_a_driver_that_is_killed() -> None:
    with start_program(PROGRAM, stdin=subprocess.PIPE) as driver:
        assert driver.stdout is not None
        started = named(eval(driver.stdout.readline()))
        os.kill(driver.pid, signal.SIGKILL)
    wait_for_ends(started)
