"""Ray on machines as separate as one kernel allows: each node has its own processes, shared memory,
/tmp and address, on a network that has nothing but loopback."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from marks import wait_until
from raycluster import ENVIRONMENT

import pyrite

MACHINE = str(Path(__file__).with_name("machine.py"))
HEAD = "127.0.0.2"
# Ray refuses ports from 10002 to 19999 for its head.
PORT, CLIENT_PORT = 6379, 20001
SPACES = ("unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child")
TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef" * 2}
# Nodes have addresses of their own here, which this one would take from them.
LOOPBACK_ONLY = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
SHM_MB = 256


def why_not() -> str:
    """Why there can be no such machines here; empty where there can."""
    try:
        done = subprocess.run(
            [*SPACES, "--net", "mount", "-t", "tmpfs", "none", "/mnt"],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        return str(error)
    return done.stderr.strip() if done.returncode else ""


class Machine:
    """A node of Ray's in namespaces of its own."""

    def __init__(
        self,
        address: str,
        log: Path,
        head: Machine | None = None,
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.address = address
        self.log = log
        ray = [str(Path(sys.executable).with_name("ray")), "start", "--block"]
        command = [
            *(sys.executable, *ray, "--node-ip-address", address, "--num-cpus", "1"),
            *("--object-store-memory", str(80 << 20), "--include-log-monitor", "false"),
            *("--min-worker-port", "0", "--max-worker-port", "0"),
        ]
        if head is None:
            command += ["--head", "--port", str(PORT), "--include-dashboard", "false"]
            command += ["--ray-client-server-port", str(CLIENT_PORT)]
            spaces = [*SPACES, "--net"]
        else:
            command += ["--address", f"{HEAD}:{PORT}"]
            spaces = ["nsenter", f"--net=/proc/{head.pid}/ns/net", *SPACES]
        package = str(Path(pyrite.__file__).parents[2])
        options = {
            "network": head is None,
            "shm_mb": SHM_MB,
            "shared": sorted({package, sys.prefix, sys.base_prefix}),
            "command": command,
        }
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [*spaces, sys.executable, MACHINE, json.dumps(options)],
                env=variables(environment),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        wait_until(self._children, f"the first process of {address}")
        # Its pid here; there it is 1.
        self.pid = self._children()[0]

    def _children(self) -> list[int]:
        pid = self.process.pid
        assert self.process.poll() is None, self.log.read_text()
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def is_up(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        return "Ray runtime started" in self.log.read_text()

    def pids(self) -> dict[int, int]:
        """The pids of all its processes: here, by those that they have there."""
        space = os.readlink(f"/proc/{self.pid}/ns/pid")
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{pid}/ns/pid") == space:
                    found[inner_pid(int(pid))] = int(pid)
            except OSError:
                # It has ended.
                continue
        return found

    def signal(self, number: int) -> None:
        """Sends all its processes a signal but the first, which stands for the machine itself."""
        for inner, pid in self.pids().items():
            if inner != 1:
                kill(pid, number)

    def left(self) -> list[str]:
        """What there is of Pyrite: processes and folders."""
        lines = (command_line(pid) for pid in self.pids().values())
        processes = [line for line in lines if "pyrite." in line and "ray::" not in line]
        roots = [Path(f"/proc/{self.pid}/root{folder}") for folder in ("/dev/shm", "/tmp")]
        folders = [str(each) for root in roots for each in root.glob("pyrite-*/*")]
        return processes + folders

    def run(
        self, source: str, environment: dict[str, str] | None = None, **options: Any
    ) -> subprocess.Popen[str]:
        """Starts a program on the machine."""
        spaces = [f"--{name}=/proc/{self.pid}/ns/{file}" for name, file in NAMES.items()]
        return subprocess.Popen(
            ["nsenter", *spaces, sys.executable, "-c", source],
            env=variables(environment or {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            **options,
        )

    def end(self) -> None:
        """Pulls the plug."""
        if self.process.poll() is None:
            kill(self.pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdin is not None
        self.process.stdin.close()


NAMES = {"net": "net", "mount": "mnt", "pid": "pid"}


def variables(changed: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """What machines and their programs have in their environment; empty ones are left out."""
    chosen = {**os.environ, **ENVIRONMENT, **TOKEN, LOOPBACK_ONLY: "", **changed}
    return {name: value for name, value in chosen.items() if value}


def kill(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def inner_pid(pid: int) -> int:
    """The pid that a process has in its own namespace."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("NSpid:"):
            return int(line.split()[-1])
    raise ProcessLookupError(pid)


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""
