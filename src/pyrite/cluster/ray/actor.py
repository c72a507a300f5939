"""The actor on each node: starts the agent, holds the node's share in Ray's books, and waits."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from typing import Any

from pyrite.cluster.node.meeting import disagreement, own_versions
from pyrite.cluster.node.wire import own_paths

# Ray kills an actor's children when it ends, and the janitor must outlive it to clean up: so its
# process is no child of the actor's.
BOOT = (
    "import os, sys, json\n"
    "if os.fork(): os._exit(0)\n"
    "os.setsid()\n"
    "sys.path[:] = json.loads(sys.argv[2])\n"
    "from pyrite.cluster.node.boot import main_with_janitor\n"
    "main_with_janitor(int(sys.argv[1]))"
)


class NodeActor:
    """Runs one agent."""

    def run(self, place: str, versions: bytes, *order: Any) -> str:
        """Starts the agent and waits for its end; returns the reason, if it gave one."""
        # What the order is made of may differ between versions: they are compared before.
        if versions != own_versions():
            return disagreement(place, own_versions(), versions)
        return self._run(*order)

    def _run(self, options: str, environment: dict[str, str]) -> str:
        # The node's own modules, behind those that the program says where to find.
        added = environment.get("PYTHONPATH", "").split(os.pathsep)
        paths = [*filter(None, added), *own_paths()]
        status, theirs = os.pipe()
        try:
            process = subprocess.Popen(
                [sys.executable, "-c", BOOT, str(theirs), json.dumps(paths)],
                pass_fds=(theirs,),
                env={**os.environ, **environment, "PYTHONHASHSEED": "0"},
                start_new_session=True,
                stdin=subprocess.PIPE,
            )
        finally:
            os.close(theirs)
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(options.encode() + b"\n")
            process.stdin.flush()
        process.wait()
        said = b""
        while more := os.read(status, 4096):
            said += more
        os.close(status)
        return said.decode(errors="replace")
