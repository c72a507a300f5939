"""Starts the agents of a local cluster, as processes of this machine."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Collection
from itertools import count
from typing import NamedTuple

from pyrite.cluster.local.forkserverprocess import executor_environment
from pyrite.cluster.node.options import AgentOptions
from pyrite.cluster.node.wire import own_paths
from pyrite.cluster.real.clustercalls import ClusterCalls
from pyrite.cluster.real.nodes import AgentPlan
from pyrite.descriptors import hold_standard_descriptors
from pyrite.execute.limits import WorkerLimits
from pyrite.ids import NodeId
from pyrite.remote.ending import wait_or_kill
from pyrite.remote.process import LOOPBACK

BOOT = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[2]); "
    "from pyrite.cluster.node.boot import main_with_janitor; "
    "main_with_janitor(int(sys.argv[1]))"
)


class NodeShape(NamedTuple):
    """The size of a node that runs tasks."""

    executors: int
    pool_bytes: int


class LocalStarter:
    """Starts each agent, with its janitor, as a child process of the driver."""

    starts_again = True

    def __init__(self, environment: dict[str, str], limits: WorkerLimits, shape: NodeShape) -> None:
        self.environment = environment
        self.limits = limits
        self.shape = shape
        self.nodes = count()
        self.storage_nodes = count()

    def open(self, calls: ClusterCalls) -> None:
        """Nodes come only when they are asked for."""

    def plan(self) -> AgentPlan:
        """The plan of one more node that runs tasks."""
        id = NodeId(f"node-{next(self.nodes)}")
        return AgentPlan(id, self.shape.executors, self.shape.pool_bytes, self.limits, LOOPBACK)

    def want(self, executors: int, there: int, leaving: Collection[NodeId]) -> list[AgentPlan]:
        return [self.plan() for _ in range((executors - there) // self.shape.executors)]

    def released(self, node: NodeId) -> None:
        """Its process has ended."""

    def storage_plan(self, pool_bytes: int) -> AgentPlan:
        id = NodeId(f"storage-{next(self.storage_nodes)}")
        return AgentPlan(id, 0, pool_bytes, self.limits, LOOPBACK)

    def start(self, options: AgentOptions) -> AgentProcess:
        return AgentProcess(options, executor_environment(self.environment))

    def lost(self, node: NodeId, reason: str, proven: bool) -> None:
        raise AssertionError("a lost node is started again")


class AgentProcess:
    """An agent's janitor: a process that holds a pipe to its starter, and one from it."""

    def __init__(self, options: AgentOptions, environment: dict[str, str]) -> None:
        hold_standard_descriptors()
        self.status_fd, theirs = os.pipe()
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-c", BOOT, str(theirs), json.dumps(own_paths())],
                pass_fds=(theirs,),
                env=environment,
                # The driver alone handles Ctrl-C in the terminal.
                start_new_session=True,
                stdin=subprocess.PIPE,
            )
        except BaseException:
            os.close(self.status_fd)
            raise
        finally:
            os.close(theirs)
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            # Not on the command line, which other users can read.
            self.process.stdin.write(options.to_json().encode() + b"\n")
            self.process.stdin.flush()

    def let_go(self) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        # A stopped process could not end.
        self.process.send_signal(signal.SIGCONT)

    def wait(self, timeout_s: float) -> None:
        wait_or_kill(self.process, timeout_s)
        with contextlib.suppress(OSError):
            os.close(self.status_fd)
