"""The forge: a small process with everything loaded that executors are forked from.

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
from pyrite.blocks.segments import Folders
from pyrite.cluster.local.wire import SocketChannel, Unpacker, pack
from pyrite.cluster.scratch import discard, lock

PR_SET_PDEATHSIG = 1
STACK_BYTES = 64 << 20
# A young collection every so many allocations: batches of rows are no garbage.
GC_THRESHOLD = (50_000, 20, 50)


def main(fd: int, options: dict[str, Any]) -> None:
    """Forks executors on request until the driver's end of the socket closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = socket.socket(fileno=fd)
    folders = Folders(*options["folders"])
    locks = [lock(folder) for folder in (folders.memory, folders.disk)]
    install_if_wanted()
    from pyrite.execute import worker

    assert worker and locks
    gc.collect()
    gc.freeze()
    Forge(control, folders, options).serve()


class Forge:
    """Forks, reaps and reports; cleans up when the driver is gone."""

    def __init__(self, control: socket.socket, folders: Folders, options: dict[str, Any]) -> None:
        self.control = control
        self.folders = folders
        self.options = options
        self.children: dict[int, int] = {}
        self.dismissed = False
        self.unpacker = Unpacker()
        self.wake, wake_end = os.pipe()
        os.set_blocking(wake_end, False)
        os.set_blocking(self.wake, False)
        signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def serve(self) -> None:
        try:
            while True:
                ready, _, _ = select.select([self.control.fileno(), self.wake], [], [])
                if self.wake in ready:
                    self.reap()
                if self.control.fileno() in ready and not self.listen():
                    break
        finally:
            self.end_executors()
        if not self.dismissed:
            self.remove_folders()

    def listen(self) -> bool:
        try:
            data, fds, _, _ = socket.recv_fds(self.control, 4096, 8)
        except ConnectionResetError:
            return False
        if not data:
            return False
        for message in self.unpacker.feed(data):
            match message:
                case ("fork", executor):
                    self.fork(executor, fds.pop(0))
                case ("adopt", paths):
                    self.options["orphans"] += paths
                case ("dismiss",):
                    self.dismissed = True
                    return False
        return True

    def fork(self, executor: int, fd: int) -> None:
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                self.control.close()
                status = run_executor(executor, fd, self.folders, self.options)
            finally:
                os._exit(status)
        os.close(fd)
        self.children[pid] = executor
        self.tell("forked", executor, pid)

    def reap(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while os.read(self.wake, 512):
                pass
        while self.children:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            executor = self.children.pop(pid, None)
            if executor is not None:
                code = os.waitstatus_to_exitcode(status)
                self.tell("exited", executor, code)

    def tell(self, *words: Any) -> None:
        """Tells the driver something; what it said before it went is heard all the same."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.control.sendall(pack(words))

    def end_executors(self) -> None:
        for pid in self.children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in self.children:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)

    def remove_folders(self) -> None:
        """Removes what the driver could not, if it was killed."""
        for folder in (self.folders.memory, self.folders.disk, *self.options["orphans"]):
            discard(folder)


def run_executor(executor: int, fd: int, folders: Folders, options: dict[str, Any]) -> int:
    """The life of an executor, in its own process."""
    from pyrite.cluster.local.cancel import CancelWord
    from pyrite.execute.store import Store
    from pyrite.execute.worker import Limits, Stopped, Worker

    # An executor must not outlive the forge, whatever happens to it.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Lineages may be thousands of generators deep.
    sys.setrecursionlimit(100_000)
    gc.set_threshold(*GC_THRESHOLD)
    limits = Limits(*options["limits"])
    raise_limits(limits.memory_bytes)
    worker = Worker(f"e{executor}", SocketChannel(socket.socket(fileno=fd)), Store(folders), limits)
    word = CancelWord(folders, executor)
    worker.cancelled = word.get
    signal.signal(signal.SIGUSR1, lambda *_: worker.interrupt(word.get()))
    worker.channel.send(("ready", os.getpid()))
    try:
        worker.serve()
    except (Stopped, EOFError, BrokenPipeError, ConnectionResetError):
        return 0
    return 0


def raise_limits(memory_bytes: int) -> None:
    """A deep stack, and an end to memory before the machine has to look for a victim."""
    with contextlib.suppress(ValueError, OSError):
        _, hard = resource.getrlimit(resource.RLIMIT_STACK)
        resource.setrlimit(resource.RLIMIT_STACK, (STACK_BYTES, hard))
    with contextlib.suppress(ValueError, OSError):
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        # Each segment that is mapped takes one.
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with contextlib.suppress(ValueError, OSError):
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        # Spilling keeps a task within its memory; rows that are being encoded come on top for a
        # moment, and so does what the interpreter had before the first task.
        limit = data_bytes() + memory_bytes * 5 // 4
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def data_bytes() -> int:
    """The memory that RLIMIT_DATA counts, as this process has it now."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[5]) * resource.getpagesize()
    except OSError:
        return 0


if __name__ == "__main__":
    main(int(sys.argv[1]), json.loads(sys.argv[2]))
