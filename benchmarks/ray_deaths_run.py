"""Kills and stops processes of a cluster on Ray; prints how long each death took to be known.

python -m benchmarks.ray_deaths_run ADDRESS
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import psutil

from benchmarks.deaths import DRIVER, EXECUTOR, NODE, SILENT
from pyrite import SparkConf, SparkContext
from pyrite.schedule.events import ExecutorLost, NodeLost

HOSTS = 2
PATIENCE_S = 120.0


def started(address: str) -> SparkContext:
    conf = SparkConf(False).setMaster(f"ray[{address}]").setAppName("deaths")
    conf.set("spark.executor.memory", "256m").set("pyrite.pool.memory", "64m")
    # No program is to blame for these deaths.
    conf.set("spark.task.maxFailures", "1000").set("spark.excludeOnFailure.enabled", "false")
    return SparkContext(conf=conf.set("spark.executorEnv.PYTHONPATH", os.getcwd()))


class Cluster:
    """A context whose executors are busy, and when its scheduler heard of losses."""

    def __init__(self, address: str) -> None:
        self.sc = started(address)
        self.cluster: Any = self.sc._engine.cluster
        self.heard: list[tuple[type, float]] = []
        self.sc._engine.story.listeners.append(self._see)

    def _see(self, now_s: float, event: Any, commands: Any) -> None:
        self.heard.append((type(event), time.monotonic()))

    def pids(self) -> dict[str, list[int]]:
        """Of each node that has all of them: janitor, agent, block server, executors."""
        links = [each for each in list(self.cluster.by_id.values()) if each.joined and each.pid]
        found = {}
        for node in list(self.cluster.nodes.values()):
            executors = [each.pid for each in links if each.node == node.id]
            if node.hello is not None and executors:
                agent = node.hello.pid
                found[node.id] = [psutil.Process(agent).ppid(), agent, node.hello.server_pid]
                found[node.id] += executors
        return found

    def time_of(self, event: type, number: int, choose: Callable[[list[int]], list[int]]) -> float:
        """Seconds from a signal to some processes of a busy node until the scheduler hears."""
        wait_until(lambda: len(self.pids()) == HOSTS)
        job = threading.Thread(target=self._keep_busy)
        job.start()
        tasks = self.sc._engine.scheduler.attempts
        wait_until(lambda: len(tasks) == HOSTS)
        pids = choose(next(iter(self.pids().values())))
        self.heard.clear()
        begun_s = time.monotonic()
        for pid in pids:
            os.kill(pid, number)
        wait_until(lambda: any(kind is event for kind, _ in self.heard))
        found = next(at_s for kind, at_s in self.heard if kind is event) - begun_s
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self.sc.cancelAllJobs()
        job.join()
        return found

    def _keep_busy(self) -> None:
        with contextlib.suppress(Exception):
            self.sc.range(HOSTS, numSlices=HOSTS).foreach(lambda _: time.sleep(600))


def wait_until(is_so: Callable[[], bool]) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while not is_so():
        if time.monotonic() > end_s:
            raise TimeoutError(f"waited {PATIENCE_S:g} s in vain")
        time.sleep(0.005)


def driver(address: str) -> None:
    """A driver that says what there is of it, and waits for its end."""
    cluster = Cluster(address)
    wait_until(lambda: len(cluster.pids()) == HOSTS)
    folders = [path for node in cluster.cluster.nodes.values() for path in node.folders[:2]]
    pids = [pid for each in cluster.pids().values() for pid in each]
    print(json.dumps([folders, pids]), flush=True)
    time.sleep(PATIENCE_S)


def time_of_drivers_end(address: str) -> float:
    """Seconds from a driver's SIGKILL until none of its processes, files and pools is left."""
    command = [sys.executable, "-m", "benchmarks.ray_deaths_run", address, "driver"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = next(each for each in process.stdout if each.startswith("[["))
        folders, pids = json.loads(said)
        begun_s = time.monotonic()
        process.kill()
        wait_until(lambda: not is_anything_left(folders, pids))
        return time.monotonic() - begun_s


def is_anything_left(folders: Sequence[str], pids: Sequence[int]) -> bool:
    return any(map(os.path.exists, folders)) or any(map(psutil.pid_exists, pids))


def main(address: str) -> None:
    cluster = Cluster(address)
    found = {
        EXECUTOR: cluster.time_of(ExecutorLost, signal.SIGKILL, lambda pids: pids[3:4]),
        NODE: cluster.time_of(NodeLost, signal.SIGKILL, lambda pids: pids),
        SILENT: cluster.time_of(NodeLost, signal.SIGSTOP, lambda pids: pids),
    }
    cluster.sc.stop()
    found[DRIVER] = time_of_drivers_end(address)
    print("RESULT " + json.dumps(found), flush=True)


if __name__ == "__main__":
    if sys.argv[2:] == ["driver"]:
        driver(sys.argv[1])
    else:
        main(sys.argv[1])
