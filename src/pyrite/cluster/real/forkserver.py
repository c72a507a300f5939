"""The agent of a single node, as the driver sees it: a child process with a socket pair."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Protocol

from pyrite.cluster.node.storage import NodeStorage
from pyrite.cluster.real.agentlink import AgentLink


class ForkServer(Protocol):
    """The process that executors are forked from."""

    process: subprocess.Popen[bytes]
    agent: AgentLink

    def close(self, timeout_s: float) -> None:
        """Ends it with its executors, and waits for its end."""


StartForkServer = Callable[[NodeStorage], ForkServer]
