"""The driver's side of the forge: starts it, asks it for executors, hears of their ends."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from pyrite.cluster.local.link import Link
from pyrite.cluster.local.wire import pack
from pyrite.descriptors import hold_standard_descriptors

BOOT = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[3]); "
    "from pyrite.cluster.local.forge import main; main(int(sys.argv[1]), json.loads(sys.argv[2]))"
)


class Launcher:
    """The forge process and the link to it."""

    def __init__(self, options: dict[str, Any], environment: dict[str, str]) -> None:
        hold_standard_descriptors()
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    BOOT,
                    str(theirs.fileno()),
                    json.dumps(options),
                    json.dumps([path or os.getcwd() for path in sys.path]),
                ],
                pass_fds=(theirs.fileno(),),
                # Equal keys hash equally in all executors.
                env={**os.environ, **environment, "PYTHONHASHSEED": "0"},
                # Ctrl-C in the terminal is the driver's to handle.
                start_new_session=True,
                stdin=subprocess.DEVNULL,
            )
        self.link = Link(ours)

    def fork(self, executor: int) -> socket.socket:
        """Asks for an executor; gives the driver's end of its socket."""
        ours, theirs = socket.socketpair()
        # A forge that has just died took its executors along, and this one with them.
        with theirs, contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.link.sock.setblocking(True)
            socket.send_fds(self.link.sock, [pack(("fork", executor))], [theirs.fileno()])
            self.link.sock.setblocking(False)
        return ours

    def adopt(self, folders: Sequence[str]) -> None:
        """Has these folders removed too when the driver is gone."""
        self._say("adopt", list(folders))

    def _say(self, *words: Any) -> None:
        """Tells the forge something, if it is there to hear it."""
        with contextlib.suppress(OSError):
            self.link.sock.setblocking(True)
            self.link.sock.sendall(pack(words))
            self.link.sock.setblocking(False)

    def close(self, timeout_s: float) -> None:
        """Ends the forge, and with it the executors."""
        # Without this word it takes the driver to have gone, and removes what others still use.
        self._say("dismiss")
        self.link.close()
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
