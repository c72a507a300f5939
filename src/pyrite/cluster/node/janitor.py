"""The janitor: a node's first process, which removes all that its agent may leave behind."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Sequence

from pyrite.blocks.segments import remove_folders
from pyrite.cluster.node.executors import watch_children
from pyrite.cluster.node.kin import descendants, kill_all, send_signal

# How long an agent may take to end by itself once the driver has let go.
GRACE_S = 3.0


class Janitor:
    """The parent of an agent. It does nothing while that lives.

    Whatever becomes of the agent, its descendants become the janitor's then (it is a subreaper):
    none is out of reach, and none stays a zombie where a container's first process reaps nobody.
    """

    def __init__(self, agent: int, leash: int, traces: Sequence[str]) -> None:
        self.agent = agent
        # Its other end closes when the starter lets go, or dies.
        self.leash = leash
        self.traces = traces
        self.wake, wake_end = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(wake_end, False)
        self.ending = False
        watch_children(wake_end)
        signal.signal(signal.SIGTERM, self._end)
        self.poll = select.poll()
        self.poll.register(self.wake, select.POLLIN)
        self.poll.register(self.leash, select.POLLIN)

    def _end(self, *_: object) -> None:
        self.ending = True

    def serve(self) -> None:
        """Waits for the agent's end, then cleans up."""
        while not self._agent_ended():
            if self.ending:
                self._end_agent()
                break
            self._wait(None)
        kill_all(lambda: descendants(os.getpid()))
        remove_folders(self.traces)

    def _end_agent(self) -> None:
        """Gives the agent a while to end by itself, and kills it then."""
        # A stopped process could not end.
        send_signal(self.agent, signal.SIGCONT)
        send_signal(self.agent, signal.SIGTERM)
        self.poll.unregister(self.leash)
        for _ in range(10):
            self._wait(GRACE_S / 10)
            if self._agent_ended():
                return
        send_signal(self.agent, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.agent, 0)

    def _wait(self, timeout_s: float | None) -> None:
        for fd, _ in self.poll.poll(None if timeout_s is None else timeout_s * 1000):
            if fd == self.leash and not os.read(self.leash, 512):
                self.ending = True
            elif fd == self.wake:
                with contextlib.suppress(BlockingIOError):
                    while os.read(self.wake, 512):
                        pass

    def _agent_ended(self) -> bool:
        """Reaps all children that have ended; returns whether the agent has."""
        try:
            while (pid := os.waitpid(-1, os.WNOHANG)[0]) != 0:
                if pid == self.agent:
                    return True
        except ChildProcessError:
            return True
        return False
