"""Rings of real processes for tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from pyrite.dht.client import DhtClient
from pyrite.dht.command import ring_status
from pyrite.ring.errors import RingUnavailable

PATIENCE_S = 60.0


def wait_until(fact: Callable[[], bool], what: str) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while not fact():
        assert time.monotonic() < until_s, f"never: {what}"
        time.sleep(0.05)


class RealRing:
    """Members that were started here, by number."""

    def __init__(self, name: str, folder: Path, block: str = "64k") -> None:
        self.name = name
        self.folder = folder
        self.block = block
        self.processes: dict[int, subprocess.Popen[str]] = {}
        self.addresses: dict[int, str] = {}

    def start(self, number: int) -> None:
        command = [sys.executable, "-m", "pyrite", "ring", "start", self.name]
        command += ["--dir", str(self.folder / f"m{number}"), "--block", self.block]
        with open(self.folder / f"m{number}.log", "a") as log:
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, text=True, env=dict(os.environ)
            )
        self.processes[number] = process
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("serving "), (self.folder / f"m{number}.log").read_text()
        self.addresses[number] = line.split(" at ")[1].split(" ")[0]

    def kill(self, number: int) -> None:
        process = self.processes.pop(number)
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()

    def stop(self, number: int) -> int:
        """Asks a member to leave in order; returns its exit code."""
        process = self.processes.pop(number)
        process.send_signal(signal.SIGTERM)
        code = process.wait(PATIENCE_S)
        assert process.stdout is not None
        process.stdout.close()
        return code

    def end(self) -> None:
        for number in list(self.processes):
            self.kill(number)

    def status(self) -> dict[str, object]:
        client = DhtClient(self.name)
        try:
            return ring_status(client)
        finally:
            client.close()

    def coordinator(self) -> int:
        """The number of the member that coordinates."""
        wait_until(lambda: self.status()["coordinator"] is not None, "a coordinator")
        status = self.status()
        members = status["members"]
        assert isinstance(members, list)
        [address] = [each["address"] for each in members if each["id"] == status["coordinator"]]
        return next(each for each, known in self.addresses.items() if known == address)

    def wait_whole(self, count: int) -> None:
        def is_whole() -> bool:
            try:
                status = self.status()
            except RingUnavailable:
                return False
            members = status["members"]
            assert isinstance(members, list)
            return len(members) == count and bool(status["whole"])

        wait_until(is_whole, f"a whole ring of {count}")
