"""The fork server: a small process with everything loaded that executors are forked from.

Forking the driver itself would copy its threads' locks and its memory; a fresh interpreter per
executor would take a hundred times longer.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import resource
import select
import signal
import socket
import sys
from typing import Any

from pyrite.alias import install_if_wanted
from pyrite.blocks.segments import Folders, remove_folders
from pyrite.cluster.local.kin import (
    adopt_orphans,
    children,
    descendants,
    in_sessions,
    kill_all,
    send_signal,
)
from pyrite.cluster.local.wire import SocketChannel, Unpacker, pack
from pyrite.descriptors import print_to_errors
from pyrite.ids import ExecutorId
from pyrite.remote.outbox import Outbox

PR_SET_PDEATHSIG = 1
STACK_BYTES = 64 << 20
# Flags of waitid: children that were stopped or continued; children that ended, left unreaped.
HALTED = os.WSTOPPED | os.WCONTINUED | os.WNOHANG
ENDED = os.WEXITED | os.WNOHANG | os.WNOWAIT
# Fewer young collections than by default: batches of rows are no garbage.
GC_THRESHOLD = (50_000, 20, 50)


def main(fd: int, options: dict[str, Any]) -> None:
    """Forks executors on request until the driver's end of the socket closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # As PySpark's workers do: only the driver prints to standard output.
    print_to_errors()
    # So that processes which tasks leave behind can be found and ended.
    adopt_orphans()
    with socket.socket(fileno=fd) as control:
        install_if_wanted()
        from pyrite.execute import worker

        assert worker
        gc.collect()
        gc.freeze()
        ForkServer(control, options).serve()


class ForkServer:
    """Forks, reaps and reports executors; cleans up when the driver is gone."""

    def __init__(self, control: socket.socket, options: dict[str, Any]) -> None:
        # If each side waited for the other to read, both could wait for ever.
        control.setblocking(False)
        self.control = control
        self.options = options
        self.children: dict[int, int] = {}
        self.unpacker = Unpacker()
        self.outbox = Outbox(control)
        self.wake, wake_end = os.pipe()
        os.set_blocking(wake_end, False)
        os.set_blocking(self.wake, False)
        signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.poll = select.poll()
        self.poll.register(self.wake, select.POLLIN)

    def serve(self) -> None:
        try:
            while True:
                wanted = select.POLLIN | (select.POLLOUT if self.outbox else 0)
                self.poll.register(self.control, wanted)
                ready = [fd for fd, _ in self.poll.poll()]
                if self.wake in ready:
                    self.reap()
                if self.control.fileno() in ready and not self.listen():
                    break
                self.outbox.flush()
        finally:
            self.end_executors()
        # The driver has ended, or does not need them any more.
        remove_folders(self.options["traces"])

    def listen(self) -> bool:
        """Handles the driver's messages; False if the driver is gone."""
        try:
            data, fds, _, _ = socket.recv_fds(self.control, 4096, 8)
        except BlockingIOError:
            return True
        except ConnectionResetError:
            return False
        for message in self.unpacker.feed(data):
            match message:
                case ("fork", executor):
                    self.fork(executor, fds.pop(0))
                case ("ping",):
                    self.send("pong")
        return bool(data)

    def fork(self, executor: ExecutorId, fd: int) -> None:
        fork_server = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            os.close(fd)
            self.send("not forked", executor, error.strerror)
            return
        if pid == 0:
            status = 1
            try:
                self.control.close()
                status = run_executor(executor, fd, fork_server, self.options)
            except BaseException:
                import traceback

                traceback.print_exc()
            finally:
                os._exit(status)
        os.close(fd)
        self.children[pid] = executor
        self.send("forked", executor, pid)

    def reap(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while os.read(self.wake, 512):
                pass
        # The first loop stops with an error if only ended children are left: reap them anyway.
        with contextlib.suppress(ChildProcessError):
            while (news := os.waitid(os.P_ALL, 0, HALTED)) is not None:
                if news.si_pid in self.children:
                    state = "stopped" if news.si_code == os.CLD_STOPPED else "continued"
                    self.send(state, self.children[news.si_pid])
        with contextlib.suppress(ChildProcessError):
            while (news := os.waitid(os.P_ALL, 0, ENDED)) is not None:
                self.bury(news.si_pid)

    def bury(self, pid: int) -> None:
        """Reaps a child; reports it if it was an executor, and ends what its tasks started."""
        executor = self.children.get(pid)
        if executor is not None:
            # Before it is reaped: until then no other session can have its id.
            self.end_session(pid)
            del self.children[pid]
        _, status = os.waitpid(pid, 0)
        if executor is not None:
            self.send("exited", executor, os.waitstatus_to_exitcode(status))

    def end_session(self, leader: int) -> None:
        """Kills what an executor's tasks left in its session: such processes are adopted children
        by now."""
        if children() - self.children.keys():
            kill_all(lambda: in_sessions({leader}))

    def send(self, *message: Any) -> None:
        """Sends a message to the driver; if that is gone, its last messages are still handled."""
        self.outbox.send(pack(message))

    def end_executors(self) -> None:
        """Ends all executors, and all processes that their tasks started: these are descendants of
        this process by now."""
        for pid in self.children:
            send_signal(pid, signal.SIGKILL)
        for pid in self.children:
            os.waitpid(pid, 0)
        try:
            while os.waitid(os.P_ALL, 0, ENDED & ~os.WNOWAIT) is not None:
                pass
        except ChildProcessError:
            return
        kill_all(lambda: descendants(os.getpid()))


def run_executor(executor: ExecutorId, fd: int, fork_server: int, options: dict[str, Any]) -> int:
    """Runs an executor, in its own process."""
    from pyrite.cluster.local.cancelflag import CancelFlag
    from pyrite.cluster.local.cancelhandler import CancelHandler
    from pyrite.execute.store import Store
    from pyrite.execute.worker import Stopped, Worker, WorkerLimits

    # Processes that its tasks start are in its session, unless they leave it, and end with it.
    os.setsid()
    # An executor must not outlive the fork server, whatever happens to it.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != fork_server:
        return 0
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Lineages may be thousands of generators deep.
    sys.setrecursionlimit(100_000)
    gc.set_threshold(*GC_THRESHOLD)
    folders, limits = Folders(*options["folders"]), WorkerLimits(*options["limits"])
    raise_limits(limits.memory_bytes)
    channel = SocketChannel(socket.socket(fileno=fd))
    store = Store(folders, limits.network_timeout_s)
    worker = Worker(executor, channel, store, limits)
    flag = CancelFlag(folders, executor)
    worker.cancelled = flag.get
    signal.signal(signal.SIGUSR1, CancelHandler(worker, flag))
    try:
        worker.channel.send(("ready", os.getpid()))
        worker.serve()
    except (Stopped, EOFError, BrokenPipeError, ConnectionResetError):
        pass
    return 0


def raise_limits(memory_bytes: int) -> None:
    """Allows a deep stack, and limits memory, so that the kernel's OOM killer stays out of it."""
    with contextlib.suppress(ValueError, OSError):
        _, hard = resource.getrlimit(resource.RLIMIT_STACK)
        resource.setrlimit(resource.RLIMIT_STACK, (STACK_BYTES, hard))
    with contextlib.suppress(ValueError, OSError):
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        # Each mapped segment takes one.
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with contextlib.suppress(ValueError, OSError):
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        # Spilling keeps a task within its memory; rows that are being encoded come on top for a
        # moment, and so does what the interpreter had before the first task.
        limit = data_bytes() + memory_bytes * 5 // 4
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def data_bytes() -> int:
    """The bytes of this process that count for RLIMIT_DATA."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[5]) * resource.getpagesize()
    except OSError:
        return 0


if __name__ == "__main__":
    main(int(sys.argv[1]), json.loads(sys.argv[2]))
