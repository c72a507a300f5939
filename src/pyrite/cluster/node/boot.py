"""The starts of an agent's process: with a janitor on a node of many, alone on the only node."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import select
import shutil
import signal
import socket
import sys
from typing import Any

from pyrite.alias import install_if_wanted
from pyrite.blocks.segments import Folders, remove_folders
from pyrite.cluster.node.agent import Agent
from pyrite.cluster.node.executor import PR_SET_PDEATHSIG, ExecutorSetup
from pyrite.cluster.node.executors import ExecutorProcesses
from pyrite.cluster.node.filefetches import files_folder
from pyrite.cluster.node.janitor import Janitor
from pyrite.cluster.node.kin import adopt_orphans
from pyrite.cluster.node.link import Link
from pyrite.cluster.node.lostpeers import LostPeers
from pyrite.cluster.node.meeting import meet_driver
from pyrite.cluster.node.options import AgentHello, AgentOptions
from pyrite.cluster.node.serving import Serving
from pyrite.cluster.node.storage import NodeStorage, StorageWays
from pyrite.cluster.scratch import SHARED_MEMORY, Scratch
from pyrite.descriptors import print_to_errors
from pyrite.execute.limits import WorkerLimits
from pyrite.remote.gate import own_gate
from pyrite.remote.process import STOP_S
from pyrite.sparkfiles import ENVIRONMENT as FILES_VARIABLE

# How long the driver may take to accept an agent.
MEETING_S = 15.0


def main_alone(fd: int, options: dict[str, Any]) -> None:
    """The agent of the only node: forks executors until the driver's end of the socket closes."""
    begin()
    poll = select.epoll()
    link = Link(socket.socket(fileno=fd), poll)
    setup = ExecutorSetup(
        Folders(*options["folders"]), WorkerLimits(*options["limits"]), LostPeers()
    )
    os.environ[FILES_VARIABLE] = files_folder(setup.folders)
    load_executors()
    agent = Agent(link, poll, ExecutorProcesses(setup, lambda *_: None))
    agent.serve()
    link.close()
    # The driver has ended, or does not need them any more.
    remove_folders(options["traces"])


def main_with_janitor(status_fd: int) -> None:
    """A node's first process: becomes the janitor, whose child is the agent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.set_inheritable(status_fd, False)
    options = AgentOptions.from_json(sys.stdin.readline())
    # Executors inherit standard input, and must not hold what tells the janitor of its end.
    leash = os.dup(0)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    try:
        scratch = Scratch(options.local_dir)
    except Exception as error:
        report(status_fd, str(error))
        return
    janitor = os.getpid()
    adopt_orphans()
    pid = os.fork()
    if pid == 0:
        os.close(leash)
        run_agent(options, scratch, status_fd, janitor)
    Janitor(pid, leash, scratch.traces()).serve()


def run_agent(options: AgentOptions, scratch: Scratch, status_fd: int, janitor: int) -> None:
    """Runs the agent, and ends this process."""
    try:
        # It cleans up after itself if its janitor is killed.
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() == janitor:
            begin()
            serve_driver(options, scratch)
    except BaseException as error:
        report(status_fd, f"{type(error).__name__}: {error}")
    finally:
        with contextlib.suppress(BaseException):
            scratch.remove()
        os._exit(0)


def serve_driver(options: AgentOptions, scratch: Scratch) -> None:
    """Starts the block server, joins the driver, and serves until the end."""
    poll = select.epoll()
    secret = bytes.fromhex(options.secret)
    pool_bytes = room_for_pool(options.pool_bytes, options.reserved_bytes)
    ways = StorageWays(pool_bytes, secret, options.listen, options.send_bytes_per_s)
    storage = NodeStorage(options.node, scratch, ways, poll)
    storage.start_server()
    try:
        storage.open()
        assert storage.server is not None
        os.environ[FILES_VARIABLE] = files_folder(storage.folders)
        setup = ExecutorSetup(storage.folders, options.limits, LostPeers())
        executors = ExecutorProcesses(setup, lambda *_: None)
        server = storage.server
        executors.others[server.process.pid] = server.process.poll
        if options.executors:
            load_executors()
        address = server.wait()
        link = Link(join_driver(options, secret), poll)
        timeout_s = options.limits.network_timeout_s
        serving = Serving(storage, secret, timeout_s)
        agent = Agent(link, poll, executors, serving, options.alone_s)
        hello = AgentHello(
            (str(address[0]), int(address[1])),
            pool_bytes,
            os.getpid(),
            server.process.pid,
            storage.folders.memory,
            storage.folders.disk,
        )
        agent.tell("hello", *hello)
        agent.serve()
    finally:
        storage.end(STOP_S)


def join_driver(options: AgentOptions, secret: bytes) -> socket.socket:
    """Connects to the driver; both prove who they are."""
    gate = own_gate()
    sock: socket.socket = socket.create_connection(options.driver, MEETING_S)
    try:
        if gate is not None:
            sock = gate.enter(sock, options.driver[0], MEETING_S)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        meet_driver(sock, secret, options.ticket)
    except BaseException:
        sock.close()
        raise
    return sock


def begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # As PySpark's workers do: only the driver prints to standard output.
    print_to_errors()
    # So that processes which tasks leave behind can be found and ended.
    adopt_orphans()
    install_if_wanted()


def load_executors() -> None:
    """Loads what executors need, once for all that are forked."""
    from pyrite.execute import collector, worker

    assert collector and worker
    gc.collect()
    gc.freeze()


def room_for_pool(wanted_bytes: int, reserved_bytes: int) -> int:
    """The part of the pool that fits into the free shared memory, beside what is reserved."""
    if not os.access(SHARED_MEMORY, os.W_OK):
        return wanted_bytes
    free_bytes = shutil.disk_usage(SHARED_MEMORY).free
    # Ray's store is elsewhere if it was too large, or is: then nobody knows who takes what.
    return min(wanted_bytes, max(free_bytes - reserved_bytes, free_bytes // 2))


def report(status_fd: int, problem: str) -> None:
    """Says why the agent could not start, or has ended."""
    with contextlib.suppress(OSError):
        os.write(status_fd, problem.encode()[: select.PIPE_BUF])
