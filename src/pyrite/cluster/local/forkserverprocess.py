"""Starts the fork server: the agent of the only node, a child process with a socket pair."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys

from pyrite.cluster.node.storage import NodeStorage
from pyrite.cluster.node.wire import own_paths
from pyrite.cluster.real.agentlink import AgentLink
from pyrite.descriptors import hold_standard_descriptors
from pyrite.execute.limits import WorkerLimits
from pyrite.remote.ending import wait_or_kill

BOOT = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[3]); "
    "from pyrite.cluster.node.boot import main_alone; "
    "main_alone(int(sys.argv[1]), json.loads(sys.argv[2]))"
)


class ForkServerProcess:
    """The fork server process and its link, which is registered in the driver's poll."""

    def __init__(
        self,
        storage: NodeStorage,
        limits: WorkerLimits,
        environment: dict[str, str],
        poll: select.epoll,
    ) -> None:
        hold_standard_descriptors()
        options = {
            "folders": list(storage.folders),
            "traces": storage.scratch.traces(),
            "limits": list(limits),
        }
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self.process = subprocess.Popen(
                    [
                        *(sys.executable, "-c", BOOT, str(theirs.fileno())),
                        *(json.dumps(options), json.dumps(own_paths())),
                    ],
                    pass_fds=(theirs.fileno(),),
                    env=executor_environment(environment),
                    # The driver alone handles Ctrl-C in the terminal.
                    start_new_session=True,
                    stdin=subprocess.DEVNULL,
                )
            except BaseException:
                ours.close()
                raise
        self.agent = AgentLink(storage.node, ours, poll)

    def close(self, timeout_s: float) -> None:
        self.agent.hang_up()
        wait_or_kill(self.process, timeout_s)


def executor_environment(environment: dict[str, str]) -> dict[str, str]:
    """The variables of agents and executors: equal keys hash equally in all of them."""
    return {**os.environ, **environment, "PYTHONHASHSEED": "0"}
