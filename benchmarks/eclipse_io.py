"""EclipseMR's figure 5 on this machine: a ring's reads beside a plain socket and local files.

A part of scripts/bench --suite eclipse. The ways take turns, and medians are shown.
"""

from __future__ import annotations

import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.scache_plots import Plot
from benchmarks.targets import Target

MEMBERS = 4
MEGABYTE = 1 << 20
READ_GOAL = 0.8
JOB_GOAL = 0.9
SERVE = """
import os, socket, sys
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
fd = os.open(sys.argv[1], os.O_RDONLY)
size = os.fstat(fd).st_size
while True:
    sock, _ = listener.accept()
    at = 0
    while at < size:
        at += os.sendfile(sock.fileno(), fd, at, size - at)
    sock.close()
"""


class EclipseIo:
    """Measures a ring of real processes."""

    def __init__(self, repeat: int, scale: str) -> None:
        self.repeat = repeat
        self.size = (64 if scale == "small" else 512) * MEGABYTE
        self.seconds: dict[str, list[float]] = {}
        self.rates: dict[str, float] = {}

    def run(self) -> None:
        with tempfile.TemporaryDirectory(prefix="pyrite-eclipse-") as folder:
            os.environ["PYRITE_RINGS"] = str(Path(folder) / "rings")
            with members(Path(folder)) as processes:
                self._measure(Path(folder), processes)

    def _measure(self, folder: Path, processes: list[subprocess.Popen[str]]) -> None:
        import fsspec

        line = b"a line of text that is as long as lines of logs are, more or less\n"
        local = folder / "local.txt"
        local.write_bytes((line * (self.size // len(line) + 1))[: self.size - 1] + b"\n")
        fs = fsspec.filesystem("dht", ring="bench")
        began_s = time.perf_counter()
        fs.put_file(str(local), "/input.txt")
        self.rates["written, three copies each"] = self._rate(time.perf_counter() - began_s)
        file = fs.file_at("/input.txt")
        with plain_server(local) as port:
            for _ in range(self.repeat + 1):
                self._time("plain socket", lambda: read_plain(port, self.size))
                self._time("ring", lambda: fs.client.read(file, 0, self.size))
        self._jobs(local)
        self._repair(processes, fs)

    def _jobs(self, local: Path) -> None:
        from pyrite import SparkConf, SparkContext

        conf = SparkConf().setMaster("local[2]").set("spark.ui.showConsoleProgress", "false")
        with SparkContext(conf=conf) as sc:
            expected = sc.textFile(str(local), 8).count()
            for _ in range(self.repeat + 1):
                for way, path in (("local job", str(local)), ("ring job", "dht://bench/input.txt")):
                    self._time(way, lambda path=path: count_words(sc, path, expected))

    def _repair(self, processes: list[subprocess.Popen[str]], fs: Any) -> None:
        """Kills a member: what it had must be copied from the others' disks again."""
        from pyrite.dht.command import ring_status

        victim = processes.pop()
        before = ring_status(fs.client)
        lost = max(each["bytes"] for each in before["members"])
        victim.kill()
        victim.wait()
        began_s = changed_s = time.perf_counter()
        while True:
            status = ring_status(fs.client)
            if len(status["members"]) == MEMBERS:
                changed_s = time.perf_counter()
            elif status["whole"]:
                break
            time.sleep(0.02)
        now_s = time.perf_counter()
        there = sum(each["bytes"] for each in status["members"])
        copied = there - (sum(each["bytes"] for each in before["members"]) - lost)
        self.rates["copied again, from the new view on"] = copied / MEGABYTE / (now_s - changed_s)
        self.rates["copied again, from the death on"] = copied / MEGABYTE / (now_s - began_s)

    def _time(self, way: str, do: Callable[[], object]) -> None:
        began_s = time.perf_counter()
        do()
        self.seconds.setdefault(way, []).append(time.perf_counter() - began_s)

    def _rate(self, taken_s: float) -> float:
        return self.size / MEGABYTE / taken_s

    def median_s(self, way: str) -> float:
        """Without the first turn, which warms up caches."""
        return statistics.median(self.seconds[way][1:])

    @property
    def read_ratio(self) -> float:
        return self.median_s("plain socket") / self.median_s("ring")

    @property
    def job_ratio(self) -> float:
        return self.median_s("local job") / self.median_s("ring job")

    @property
    def is_well(self) -> bool:
        return all(target.is_met for target in self.targets)

    @property
    def targets(self) -> list[Target]:
        return [
            _part("figure 5: reading, of a plain socket", self.read_ratio, READ_GOAL),
            _part("figure 5: a job, of local files", self.job_ratio, JOB_GOAL),
        ]

    @property
    def plots(self) -> dict[str, Plot]:
        turns = [str(turn) for turn in range(1, self.repeat + 1)]
        lines = {
            way: [self._rate(taken_s) for taken_s in seconds[1:]]
            for way, seconds in self.seconds.items()
        }
        title = f"Figure 5: {self.size // MEGABYTE} MB, a ring of {MEMBERS} members"
        return {"throughput": Plot(title, "MB/s, real", "turn", turns, lines, "MB/s")}

    def markdown(self) -> str:
        rows = [
            f"| {way} | {self.median_s(way):.3f} | {self._rate(self.median_s(way)):.0f} |"
            for way in self.seconds
        ]
        rates = [f"| {what} | | {rate:.0f} |" for what, rate in self.rates.items()]
        return "\n".join(
            [
                f"## Figure 5: {self.size // MEGABYTE} MB on a ring of {MEMBERS} members",
                "",
                "The paper: the DHT file system reads as fast as HDFS by task time (a), and faster "
                "by job time (b).",
                "",
                "| way | s | MB/s |",
                "|---|---:|---:|",
                *rows,
                *rates,
                "",
            ]
        )


def _part(what: str, measured: float, goal: float) -> Target:
    return Target(what, 100 * measured, 100 * goal, at_least=True, unit="%")


def count_words(sc: Any, path: str, expected: int) -> None:
    """A job that reads all lines, and does a little with each."""
    found = sc.textFile(path, 8).map(lambda line: len(line.split())).count()
    assert found == expected, f"{found} lines of {path}, not {expected}"


@contextmanager
def members(folder: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """Starts a ring of real processes, and ends them."""
    processes = []
    try:
        for number in range(MEMBERS):
            command = [sys.executable, "-m", "pyrite", "ring", "start", "bench"]
            process = subprocess.Popen(
                [*command, "--dir", str(folder / f"m{number}")], stdout=subprocess.PIPE, text=True
            )
            processes.append(process)
            assert process.stdout is not None
            assert process.stdout.readline().startswith("serving")
        yield processes
    finally:
        for process in processes:
            process.send_signal(signal.SIGKILL)
            process.wait()


@contextmanager
def plain_server(path: Path) -> Iterator[int]:
    """A process that sends a file to whoever connects."""
    command = [sys.executable, "-c", SERVE, str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()


def read_plain(port: int, size: int) -> None:
    """Receives a file into memory."""
    buffer = memoryview(bytearray(size))
    with socket.create_connection(("127.0.0.1", port)) as sock:
        while buffer:
            got = sock.recv_into(buffer)
            assert got, "the plain server ended too early"
            buffer = buffer[got:]
