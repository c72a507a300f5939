"""Drivers that are killed while they start, and starts that fail, leave nothing behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from marks import wait_until
from programs import alive, run_program

from pyrite import SparkContext
from pyrite.cluster import scratch
from pyrite.errors import UserError

Start = Callable[..., SparkContext]

# Kills itself before the n-th time that a start makes, locks or renames a folder, or starts a
# process; says "started" where a start has fewer of these moments.
PROGRAM = """
import os, signal, sys
from pyrite import SparkConf, SparkContext
from pyrite.cluster import scratch

MOMENTS = {{"os.mkdir", "os.rename", "fcntl.flock", "subprocess.Popen"}}
scratch.SHARED_MEMORY = {memory!r}
left = {moment}

def count(event, _):
    global left
    if event in MOMENTS:
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

conf = SparkConf(False).setMaster({master!r}).set("spark.local.dir", {disk!r})
sys.addaudithook(count)
sc = SparkContext(conf=conf)
left = 1 << 30
print("started", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


class Folders:
    """Folders that stand for shared memory and disk, of one test alone."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.memory, self.disk = root / "memory", root / "disk"
        self.memory.mkdir()
        self.disk.mkdir()

    def left(self) -> list[str]:
        """What is in them, apart from the user's own folders."""
        return [str(each) for each in self.root.glob("*/pyrite-*/*")]

    def processes(self) -> list[psutil.Process]:
        """Those that were started for what is in them."""
        found = []
        for process in psutil.process_iter(["cmdline"]):
            if any(str(self.root) in each for each in process.info["cmdline"] or ()):
                found.append(process)
        return alive([each for each in found if each.pid != os.getpid()])


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[Folders]:
    yield (made := Folders(tmp_path))
    for process in made.processes():
        process.kill()


@pytest.mark.parametrize("master", ["local[2]", "local-cluster[1,1,64m,1x8m]"])
def test_a_kill_at_every_moment_of_a_start_leaves_nothing(folders: Folders, master: str) -> None:
    moment, started = 0, False
    while not started:
        where = {"memory": str(folders.memory), "disk": str(folders.disk)}
        done = run_program(PROGRAM.format(master=master, moment=moment, **where))
        assert done.returncode == -signal.SIGKILL, done.stderr
        started = "started" in done.stdout
        wait_until(lambda: not folders.processes(), f"the processes' ends, moment {moment}")
        assert folders.left() == [], f"moment {moment}"
        moment += 1
    assert moment > 8


@pytest.fixture
def own_memory(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> Folders:
    monkeypatch.setattr(scratch, "SHARED_MEMORY", str(folders.memory))
    return folders


@pytest.mark.parametrize("master", ["local[1]", "local-cluster[1,1,64m]"])
@pytest.mark.parametrize("wrong", ["local dir", "event log", "file", "checkpoints"])
def test_a_start_that_fails_leaves_nothing(
    start: Start, own_memory: Folders, tmp_path: Path, wrong: str, master: str
) -> None:
    (tmp_path / "file").touch()
    settings: dict[str, Any] = {
        "local dir": {"spark__local__dir": tmp_path / "file"},
        "event log": {
            "spark__eventLog__enabled": "true",
            "spark__eventLog__dir": tmp_path / "file" / "below",
        },
        "file": {"spark__files": tmp_path / "absent"},
        "checkpoints": {"spark__checkpoint__dir": tmp_path / "file"},
    }[wrong]
    with pytest.raises((UserError, OSError)):
        start(master, **{"spark__local__dir": own_memory.disk, **settings})
    assert own_memory.left() == []
    assert own_memory.processes() == []


def test_a_full_memory_folder_leaves_nothing(
    start: Start, own_memory: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = scratch.make_locked

    def make_one(folder: str) -> int:
        if folder.startswith(str(own_memory.disk)):
            raise OSError(28, "No space left on device", folder)
        return made(folder)

    monkeypatch.setattr(scratch, "make_locked", make_one)
    with pytest.raises(Exception, match="No space left"):
        start("local[1]", spark__local__dir=own_memory.disk)
    assert own_memory.left() == []
    assert own_memory.processes() == []
