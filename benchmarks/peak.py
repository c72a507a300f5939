"""Peak memory of a process and all it starts, sampled from outside.

Counted is the proportional set size, so that a page two processes share counts once, plus what
files in shared memory occupy without being mapped by anyone.

    python -m benchmarks.peak COMMAND...
"""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

INTERVAL_S = 0.075
# A sample walks the page tables of every process; keep that below a twentieth of one core.
COST_FACTOR = 20


@dataclass(frozen=True)
class Watched:
    """What a finished command left: exit code, output and the peak of its process tree."""

    returncode: int
    stdout: str
    stderr: str
    peak_bytes: int


class TreeMemory:
    """The memory of a process tree, in bytes at a moment."""

    def __init__(self, root_pid: int):
        self.root_pid = root_pid
        self._shared_before_bytes = _shared_files_bytes()

    def now_bytes(self) -> int:
        """The proportional set size of the tree, shared-memory files included."""
        total = shared_mapped = 0
        for pid in tree_pids(self.root_pid):
            pss, pss_shared = _pss_bytes(pid)
            total += pss
            shared_mapped += pss_shared
        shared_files = _shared_files_bytes() - self._shared_before_bytes
        return total - shared_mapped + max(shared_mapped, shared_files)


def run_watched(command: list[str], env: dict[str, str], timeout_s: float) -> Watched:
    """Run a command to its end, or to its time limit, and watch how much memory it takes."""
    process = subprocess.Popen(
        command,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    memory = TreeMemory(process.pid)
    peak_bytes = 0
    stops_at_s = time.monotonic() + timeout_s
    while True:
        began_s = time.thread_time()
        peak_bytes = max(peak_bytes, memory.now_bytes())
        pause_s = max(INTERVAL_S, COST_FACTOR * (time.thread_time() - began_s))
        try:
            stdout, stderr = process.communicate(timeout=pause_s)
            return Watched(process.returncode, stdout, stderr, peak_bytes)
        except subprocess.TimeoutExpired:
            if time.monotonic() > stops_at_s:
                for pid in tree_pids(process.pid):
                    _kill(pid)
                stdout, stderr = process.communicate()
                stderr += f"\nstopped after {timeout_s:.0f} s, see --timeout"
                return Watched(process.returncode, stdout, stderr, peak_bytes)


def tree_pids(root_pid: int) -> list[int]:
    """The process, its descendants, and whoever else still is in its session."""
    parents: dict[int, int] = {}
    found = set()
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path(f"/proc/{entry}/stat").read_text()
            except OSError:
                continue
            _state, parent, _group, session = stat.rpartition(")")[2].split()[:4]
            parents[int(entry)] = int(parent)
            if int(session) == root_pid:
                found.add(int(entry))
    children: dict[int, list[int]] = {}
    for pid, parent_pid in parents.items():
        children.setdefault(parent_pid, []).append(pid)
    queue = [root_pid, *sorted(found)]
    found.update(queue)
    for pid in queue:
        news = [child for child in children.get(pid, []) if child not in found]
        found.update(news)
        queue.extend(news)
    return sorted(found & parents.keys())


def _pss_bytes(pid: int) -> tuple[int, int]:
    """All of the process's proportional set size, and the shared-memory part of it."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0, 0
    sizes = {
        fields[0]: int(fields[1]) * 1024
        for fields in map(str.split, rollup.splitlines())
        if fields[0] in ("Pss:", "Pss_Shmem:")
    }
    return sizes.get("Pss:", 0), sizes.get("Pss_Shmem:", 0)


def _shared_files_bytes() -> int:
    try:
        usage = os.statvfs("/dev/shm")
    except OSError:
        return 0
    return (usage.f_blocks - usage.f_bfree) * usage.f_frsize


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def main() -> None:
    """Run the command given and print its peak in MB."""
    watched = run_watched(sys.argv[1:], dict(os.environ), timeout_s=float("inf"))
    sys.stdout.write(watched.stdout)
    sys.stderr.write(watched.stderr)
    print(f"peak: {watched.peak_bytes / 1e6:.1f} MB", file=sys.stderr)
    sys.exit(watched.returncode)


if __name__ == "__main__":
    main()
