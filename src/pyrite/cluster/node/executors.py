"""The executors of a node: forks them, cancels and kills them, reaps them."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Callable
from typing import Any

from pyrite.cluster.node.cancelflag import CancelFlag
from pyrite.cluster.node.executor import ExecutorSetup, end_with, run_executor
from pyrite.cluster.node.kin import (
    children,
    descendants,
    in_sessions,
    kill_all,
    kill_tree,
    send_signal,
)
from pyrite.cluster.node.stackfile import take_last_lines
from pyrite.ids import ExecutorId

# Flags of waitid: children that were stopped or continued; children that ended, left unreaped.
HALTED = os.WSTOPPED | os.WCONTINUED | os.WNOHANG
ENDED = os.WEXITED | os.WNOHANG | os.WNOWAIT


class ExecutorProcesses:
    """Executors as children of this process, from which they are forked.

    Reports by `tell`: forked, not forked, stopped, continued, exited.
    """

    def __init__(self, setup: ExecutorSetup, tell: Callable[..., None]) -> None:
        self.setup = setup
        self.tell = tell
        self.by_pid: dict[int, ExecutorId] = {}
        self.pids: dict[ExecutorId, int] = {}
        self.flags: dict[ExecutorId, CancelFlag] = {}
        # Children of this process that are no executors, such as its block server, and what reaps
        # one that has ended.
        self.others: dict[int, Callable[[], object]] = {}
        # Called before an executor's end is told, with its id and pid; returns the last lines that
        # it printed.
        self.ended: Callable[[ExecutorId, int], str] = lambda id, pid: ""
        # Called in each executor: closes what only the agent may hold.
        self.close_in_child: Callable[[], None] = lambda: None

    def fork(self, id: ExecutorId, sock: socket.socket, output: int | None = None) -> None:
        """Forks an executor with its end of the socket, and that of a pipe for what it prints,
        both of which this process closes."""
        agent = os.getpid()
        try:
            flag = CancelFlag()
            pid = os.fork()
        except OSError as error:
            close_both(sock, output)
            self.tell("not forked", id, error.strerror)
            return
        if pid == 0:
            self._become(id, sock, flag, agent, output)
        close_both(sock, output)
        self.by_pid[pid] = id
        self.pids[id] = pid
        self.flags[id] = flag
        self.tell("forked", id, pid)

    def _become(
        self,
        id: ExecutorId,
        sock: socket.socket,
        flag: CancelFlag,
        agent: int,
        output: int | None,
    ) -> None:
        status = 1
        try:
            self.close_in_child()
            if output is not None:
                os.dup2(output, 1)
                os.dup2(output, 2)
                os.close(output)
            # Processes that its tasks start are in its session, unless they leave it, and end with
            # it.
            os.setsid()
            # An executor must not outlive its agent, whatever happens to it.
            status = run_executor(id, sock, flag, self.setup) if end_with(agent) else 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(status)

    def cancel(self, id: ExecutorId, attempt: int) -> None:
        """Interrupts the attempt, if the executor runs it."""
        if id in self.pids:
            self.flags[id].set(attempt)
            send_signal(self.pids[id], signal.SIGUSR1)

    def give_up_peer(self, address: tuple[str, int]) -> None:
        """Has executors wait no longer for a block server."""
        self.setup.lost.add(address)
        for pid in self.by_pid:
            send_signal(pid, signal.SIGUSR1)

    def kill(self, id: ExecutorId) -> None:
        """Kills an executor with all its descendants."""
        if id in self.pids:
            kill_tree(self.pids[id])

    def reap(self) -> None:
        """Reports executors that were stopped, were continued or have ended."""
        # The first loop stops with an error if only ended children are left: reap them anyway.
        with contextlib.suppress(ChildProcessError):
            while (news := os.waitid(os.P_ALL, 0, HALTED)) is not None:
                if news.si_pid in self.by_pid:
                    state = "stopped" if news.si_code == os.CLD_STOPPED else "continued"
                    self.tell(state, self.by_pid[news.si_pid])
        with contextlib.suppress(ChildProcessError):
            while (news := os.waitid(os.P_ALL, 0, ENDED)) is not None:
                self._bury(news.si_pid)

    def _bury(self, pid: int) -> None:
        """Reaps a child; reports it if it was an executor, and ends what its tasks started."""
        if pid in self.others:
            self.others.pop(pid)()
            return
        id = self.by_pid.get(pid)
        if id is not None:
            # Before it is reaped: until then no other session can have its id.
            self._end_session(pid)
            del self.by_pid[pid], self.pids[id], self.flags[id]
        _, status = os.waitpid(pid, 0)
        if id is not None:
            last = self.ended(id, pid)
            stacks = take_last_lines(self.setup.folders.memory, id)
            self.tell("exited", id, os.waitstatus_to_exitcode(status), last, stacks)

    def _end_session(self, leader: int) -> None:
        """Kills what an executor's tasks left in its session: such processes are adopted children
        by now."""
        if children() - self.by_pid.keys() - self.others.keys():
            kill_all(lambda: in_sessions({leader}))

    def end(self) -> None:
        """Ends all executors, and all processes that their tasks started: these are descendants of
        this process by now."""
        for pid in self.by_pid:
            send_signal(pid, signal.SIGKILL)
        for pid in self.by_pid:
            os.waitpid(pid, 0)
        try:
            while not self.others and os.waitid(os.P_ALL, 0, ENDED & ~os.WNOWAIT) is not None:
                pass
        except ChildProcessError:
            return
        kill_all(lambda: [pid for pid in descendants(os.getpid()) if pid not in self.others])


def close_both(sock: socket.socket, output: int | None) -> None:
    sock.close()
    if output is not None:
        os.close(output)


def watch_children(wake: int) -> None:
    """Has the descriptor woken when a child ends or stops."""
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, ignore)


def ignore(*_: Any) -> None:
    """Without a handler, no signal would wake the descriptor."""
