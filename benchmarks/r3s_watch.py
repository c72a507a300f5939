"""The peaks of nodes' pools and of executors' memory, beside what they were allowed.

A process of its own watches, so that the driver that is measured does not. It is given what to
watch as JSON, and prints the peaks when its standard input ends.
"""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.peak import tree_pids

INTERVAL_S = 0.02
# Keep the watching below a twentieth of one core.
COST_FACTOR = 20
GONE = " (deleted)"
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass
class NodePeak:
    """The most that lay in a node's memory folder, files that are gone but mapped included."""

    node: str
    folder: str
    limit_bytes: int
    peak_bytes: int = 0
    last_bytes: int = 0


@dataclass
class ProcessPeak:
    """The most private memory that an executor had: as the engine measures it."""

    pid: int
    limit_bytes: int
    peak_bytes: int = 0


class Watch:
    """Samples what it is told to."""

    def __init__(self, root_pid: int, nodes: list[NodePeak], executors: list[ProcessPeak]) -> None:
        self.nodes = nodes
        self.executors = executors
        # Whoever may have a segment open or mapped; all of them live as long as the application.
        self.pids = tree_pids(root_pid)

    def sample(self) -> None:
        gone = self._gone_bytes()
        for node in self.nodes:
            node.last_bytes = folder_bytes(node.folder) + gone.get(node.folder, 0)
            node.peak_bytes = max(node.peak_bytes, node.last_bytes)
        for each in self.executors:
            each.peak_bytes = max(each.peak_bytes, private_bytes(each.pid))

    def _gone_bytes(self) -> dict[str, int]:
        """By folder, what unlinked files take that somebody still has open or mapped."""
        sizes: dict[str, dict[str, int]] = {node.folder: {} for node in self.nodes}
        for pid in self.pids:
            for path, size in [*mapped_and_gone(pid), *open_and_gone(pid)]:
                if (folder := os.path.dirname(path)) in sizes:
                    # Names are not used twice, so that a file counts once, whoever holds it.
                    sizes[folder][path] = size
        return {folder: sum(found.values()) for folder, found in sizes.items()}


def mapped_and_gone(pid: int) -> Iterator[tuple[str, int]]:
    """Mapped files that have no name any more: the name they had, what they take."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        if line.endswith(GONE):
            span, _rights, _offset, _device, _inode, path = line.split(maxsplit=5)
            yield path.removesuffix(GONE), mapped_bytes(pid, span)


def mapped_bytes(pid: int, span: str) -> int:
    """What a mapped file takes; where we may not ask, what is mapped of it."""
    with suppress(OSError):
        return os.stat(f"/proc/{pid}/map_files/{span}").st_blocks * 512
    start, end = (int(each, 16) for each in span.split("-"))
    return end - start


def open_and_gone(pid: int) -> Iterator[tuple[str, int]]:
    """The same for files that are open."""
    with suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                if (path := os.readlink(entry.path)).endswith(GONE):
                    yield path.removesuffix(GONE), os.stat(entry.path).st_blocks * 512


def folder_bytes(folder: str) -> int:
    """What the files in a folder take, holes not counted."""
    total = 0
    with suppress(FileNotFoundError):
        for entry in os.scandir(folder):
            with suppress(FileNotFoundError):
                total += entry.stat(follow_symlinks=False).st_blocks * 512
    return total


def private_bytes(pid: int) -> int:
    """A process's resident memory without shared memory and files."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * PAGE_BYTES


class Watcher:
    """Starts the watching process for a running context of Pyrite, and ends it."""

    def __init__(self, sc: Any, executor_bytes: int) -> None:
        cluster = sc._engine.cluster
        nodes = [
            NodePeak(str(node.id), node.folders.memory, node.shape.pool_bytes)
            for node in cluster.nodes.values()
        ]
        executors = [ProcessPeak(link.pid, executor_bytes) for link in cluster.by_id.values()]
        told = {
            "root_pid": os.getpid(),
            "nodes": [asdict(each) for each in nodes],
            "executors": [asdict(each) for each in executors],
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.r3s_watch", json.dumps(told)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def finish(self) -> dict[str, Any]:
        """The peaks: `nodes` and `executors`, each a list of dictionaries."""
        out, _ = self._process.communicate()
        peaks: dict[str, Any] = json.loads(out)
        return peaks


def main() -> None:
    """Sample until told to stop."""
    told = json.loads(sys.argv[1])
    watch = Watch(
        told["root_pid"],
        [NodePeak(**each) for each in told["nodes"]],
        [ProcessPeak(**each) for each in told["executors"]],
    )
    pause_s = 0.0
    while not select.select([sys.stdin], [], [], pause_s)[0]:
        began_s = time.thread_time()
        watch.sample()
        pause_s = max(INTERVAL_S, COST_FACTOR * (time.thread_time() - began_s))
    watch.sample()
    peaks = {
        "nodes": [asdict(each) for each in watch.nodes],
        "executors": [asdict(each) for each in watch.executors],
    }
    print(json.dumps(peaks))


if __name__ == "__main__":
    main()
