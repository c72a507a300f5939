"""An executor's process: what it is set up with after it was forked."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import socket
import sys
from typing import NamedTuple

from pyrite.blocks.segments import Folders
from pyrite.bounded.processmemory import read_pages
from pyrite.cluster.node.cancelflag import CancelFlag
from pyrite.cluster.node.exitcode import MEMORY_EXHAUSTED
from pyrite.cluster.node.lostpeers import LostPeers
from pyrite.cluster.node.wire import SocketChannel
from pyrite.execute.limits import WorkerLimits
from pyrite.ids import ExecutorId

PR_SET_PDEATHSIG = 1
STACK_BYTES = 64 << 20


class ExecutorSetup(NamedTuple):
    """What all executors of a node are started with."""

    folders: Folders
    limits: WorkerLimits
    lost: LostPeers


def run_executor(
    id: ExecutorId, sock: socket.socket, flag: CancelFlag, setup: ExecutorSetup
) -> int:
    """Runs an executor, in its own process; returns its exit code."""
    from pyrite.cluster.node.cancelhandler import CancelHandler
    from pyrite.cluster.node.stackfile import write_stacks
    from pyrite.execute.collector import Collector
    from pyrite.execute.sampler import StackSampler
    from pyrite.execute.store import Store
    from pyrite.execute.worker import Stopped, Worker

    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Lineages may be thousands of generators deep.
    sys.setrecursionlimit(100_000)
    limits = setup.limits
    write_stacks(setup.folders.memory, id)
    sock.setblocking(True)
    store = Store(setup.folders, limits.network_timeout_s)
    worker = Worker(id, SocketChannel(sock), store, limits)
    raise_limits(limits.memory_bytes)
    worker.cancelled = flag.get
    if limits.profile_hertz:
        worker.meter.sampler = StackSampler(limits.profile_hertz)
    setup.lost.skip()
    live = worker.live
    collector = Collector(limits.memory_bytes, kept_bytes=lambda: live.used_bytes)
    collector.install()
    worker.task_started = collector.start_task
    signal.signal(signal.SIGUSR1, CancelHandler(worker, flag, setup.lost))
    try:
        worker.channel.send(("ready", os.getpid(), socket.gethostname()))
        if worker.copies.paths:
            # The driver says which of them are of broadcasts that are gone.
            worker.channel.send(("adopted", sorted(worker.copies.paths)))
        worker.serve()
    except (Stopped, EOFError, BrokenPipeError, ConnectionResetError):
        pass
    except MemoryError:
        return MEMORY_EXHAUSTED
    return 0


def end_with(parent: int) -> bool:
    """Has the kernel end this process with its parent; False if that has ended already."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    return os.getppid() == parent


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
        limit = read_pages().data_bytes + memory_bytes * 5 // 4
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
