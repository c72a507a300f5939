"""A Ray cluster of several nodes on loopback, in a process of its own, for all tests of a run."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys

# Ray listens on all interfaces unless its address is exactly 127.0.0.1, and takes that address for
# another unless it is told that this is all there is.
ENVIRONMENT = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_memory_monitor_refresh_ms": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    # Ray gives up nodes and agents that are late, as they are on a machine with much to do.
    "RAY_health_check_timeout_ms": "60000",
    "RAY_agent_register_timeout_ms": "120000",
}

PROGRAM = """
import signal, sys
from ray.cluster_utils import Cluster

signal.signal(signal.SIGINT, signal.SIG_IGN)
node = {"node_ip_address": "127.0.0.1", "object_store_memory": 80 << 20}
head = {**node, "num_cpus": 1, "include_dashboard": False}
cluster = Cluster(initialize_head=True, head_node_args=head)
cluster.add_node(**node, num_cpus=1)
cluster.add_node(**node, num_cpus=0, resources={"pyrite_storage": 1})
print("address", cluster.address, flush=True)
for line in sys.stdin:
    match line.split():
        case ["add", cpus]:
            added = cluster.add_node(**node, num_cpus=int(cpus))
            print("added", flush=True)
        case ["remove"]:
            cluster.remove_node(added, allow_graceful=False)
            print("removed", flush=True)
        case ["check"]:
            print("whole", cluster.remaining_processes_alive(), flush=True)
cluster.shutdown()
"""


class RayCluster:
    """Two nodes of one CPU, and one that only lends memory."""

    def __init__(self) -> None:
        os.environ.update(ENVIRONMENT)
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        self.address = self._wait_for("address")[1]
        atexit.register(self.end)

    def _wait_for(self, word: str) -> list[str]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(word):
                return line.split()
        raise AssertionError("Ray did not start")

    def order(self, line: str, answer: str) -> list[str]:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self._wait_for(answer)

    def is_whole(self) -> bool:
        """Whether every process of every node still runs."""
        try:
            return self.order("check", "whole") == ["whole", "True"]
        except (BrokenPipeError, AssertionError):
            return False

    def end(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process.stdout.close()
        atexit.unregister(self.end)


_shared: list[RayCluster] = []


def shared_ray() -> RayCluster:
    """The cluster that all tests of this process use; another one where a part of it has died."""
    if _shared and not _shared[0].is_whole():
        _shared.pop().end()
    if not _shared:
        _shared.append(RayCluster())
    return _shared[0]
