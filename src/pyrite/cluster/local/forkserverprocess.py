"""The driver's side of the fork server: starts it, requests executors, receives their ends."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import subprocess
import sys
from typing import Any

from pyrite.cluster.local.link import Link
from pyrite.cluster.local.wire import Message, pack
from pyrite.descriptors import hold_standard_descriptors
from pyrite.remote.ending import wait_or_kill

BOOT = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[3]); "
    "from pyrite.cluster.local.forkserver import main; "
    "main(int(sys.argv[1]), json.loads(sys.argv[2]))"
)


class ForkServerProcess:
    """The fork server process and its link, which is registered in the driver's poll."""

    def __init__(
        self, options: dict[str, Any], environment: dict[str, str], poll: select.epoll
    ) -> None:
        hold_standard_descriptors()
        ours, theirs = socket.socketpair()
        with theirs:
            try:
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
                    # The driver alone handles Ctrl-C in the terminal.
                    start_new_session=True,
                    stdin=subprocess.DEVNULL,
                )
            except BaseException:
                ours.close()
                raise
        self.link = Link(ours, poll)
        self.poll = poll

    def fork(self, executor: int) -> socket.socket:
        """Requests an executor; returns the driver's end of its socket."""
        ours, theirs = socket.socketpair()
        self.link.outbox.send(pack(("fork", executor)), theirs)
        return ours

    def ping(self) -> None:
        """Requests an answer; it wakes the poll, and `read` drops it."""
        self.link.outbox.send(pack(("ping",)))

    def read(self) -> list[Message]:
        """Returns its messages about executors; `link.closed` is set once it has ended."""
        self.link.outbox.flush()
        return [message for message in self.link.read() if message != ("pong",)]

    def hang_up(self) -> None:
        """Closes the socket: the fork server ends, with its executors."""
        self.link.outbox.clear()
        with contextlib.suppress(OSError, ValueError):
            self.poll.unregister(self.link.sock)
        self.link.close()

    def close(self, timeout_s: float) -> None:
        """Ends the fork server with its executors, and waits for its end."""
        self.hang_up()
        wait_or_kill(self.process, timeout_s)
