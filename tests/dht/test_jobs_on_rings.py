"""Jobs whose input lies on a ring: what stays in memory, where tasks go, and members that die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import fsspec
import pytest
from realrings import RealRing, wait_until

from pyrite import SparkConf, SparkContext
from pyrite.lib.applications import word_count

RING = "jobs"
LINES = [f"{number} line of a file on a ring" for number in range(40_000)]
TEXT = "\n".join(LINES).encode()
TOTAL = sum(map(len, LINES))
# Members that get no processor for two seconds are taken for dead.
pytestmark = [pytest.mark.alone, pytest.mark.timeout(400)]


@contextmanager
def context(ring: RealRing, **settings: str) -> Iterator[SparkContext]:
    conf = SparkConf().setMaster("local-cluster[3,1,256m]").set("pyrite.ring", ring.name)
    for name, value in settings.items():
        conf.set("pyrite." + name.replace("_", "."), value)
    with SparkContext(conf=conf) as sc:
        yield sc


@pytest.fixture(scope="module", autouse=True)
def text(ring: RealRing) -> str:
    fsspec.filesystem("dht", ring=ring.name).pipe_file("/text", TEXT)
    return f"dht://{ring.name}/text"


def test_blocks_stay_in_memory_and_tasks_go_where_they_are(ring: RealRing, text: str) -> None:
    with context(ring, laf_strict="true", ring_cache="16m") as sc:
        lines = sc.textFile(text)
        parts = lines.getNumPartitions()
        assert parts >= len(TEXT) // (64 << 10)
        assert lines.map(len).sum() == TOTAL
        first = sc.memory()
        assert first.inputs == (0, parts)
        held = sum(node.input_bytes for node in first.nodes)
        assert held == len(TEXT), "each block is in memory once"
        assert sum(node.input_bytes > 0 for node in first.nodes) == 3
        # Another job over the same file: ranges have not moved by so few tasks.
        assert sc.textFile(text).filter(lambda line: "1" in line).count() > 0
        after = sc.memory()
        assert after.inputs == (parts, parts)
        assert sum(node.input_bytes for node in after.nodes) == held


def test_the_cache_is_bounded(ring: RealRing, text: str) -> None:
    with context(ring, ring_cache="200k") as sc:
        for _ in range(2):
            assert sc.textFile(text).map(len).sum() == TOTAL
        assert 0 < max(node.input_bytes for node in sc.memory().nodes) <= 200 << 10
    with context(ring, ring_cache="0") as sc:
        assert sc.textFile(text).map(len).sum() == TOTAL
        assert not any(node.input_bytes for node in sc.memory().nodes)


def test_cached_input_gives_way_to_everything_else(ring: RealRing, text: str) -> None:
    with context(ring, ring_cache="1500k", pool_memory="2m") as sc:
        assert sc.textFile(text).map(len).sum() == TOTAL
        before = sum(node.input_bytes for node in sc.memory().nodes)
        assert before > 1 << 20
        # Map outputs fill the pools.
        pairs = sc.range(0, 60_000, numSlices=12).map(lambda x: (x, "x" * 60))
        assert pairs.groupByKey(6).count() == 60_000
        assert pairs.partitionBy(6).count() == 60_000
        assert sc.textFile(text).map(len).sum() == TOTAL


@pytest.mark.parametrize("way", ["true", "false", "delay"])
def test_every_way_of_placing_gives_the_same_rows(ring: RealRing, text: str, way: str) -> None:
    with context(ring, laf=way, laf_migrate="true") as sc:
        for _ in range(2):
            assert sc.textFile(text, 30).map(len).sum() == TOTAL
        assert sc.textFile(text).collect() == LINES


def test_cached_blocks_that_are_spoilt_are_read_again(ring: RealRing, text: str) -> None:
    with context(ring, laf_strict="true") as sc:
        assert sc.textFile(text).map(len).sum() == TOTAL
        spoilt = 0
        for pid in sc.range(0, 30, numSlices=30).map(lambda _: os.getpid()).distinct().collect():
            maps = Path(f"/proc/{pid}/maps").read_text()
            assert maps
        for path in Path("/dev/shm").rglob("*"):
            if (
                path.is_file()
                and path.stat().st_uid == os.getuid()
                and b"a file on a ring" in (path.read_bytes()[:4096])
            ):
                with path.open("r+b") as file:
                    file.seek(100)
                    file.write(b"spoilt bytes in memory")
                spoilt += 1
        assert spoilt > 3
        assert sc.textFile(text).map(len).sum() == TOTAL
        assert sc.textFile(text).collect() == LINES


@pytest.mark.parametrize("victim", ["coordinator", "member"])
def test_members_that_are_killed_while_a_job_runs(ring: RealRing, text: str, victim: str) -> None:
    ring.wait_whole(5)
    number = ring.coordinator() if victim == "coordinator" else (ring.coordinator() + 1) % 5
    with context(ring, ring_cache="0") as sc:
        wrong: list[object] = []
        done = threading.Event()

        def read() -> None:
            try:
                while not done.is_set():
                    total = sc.textFile(text).map(len).sum()
                    if total != TOTAL:
                        wrong.append(total)
                    counts = word_count(sc.textFile(text))
                    kept = counts.tag(f"words {victim}")
                    if dict(kept.collect())["ring"] != len(LINES):
                        wrong.append("words")
                    sc.untag(f"words {victim}")
                    rounds.append(1)
            except Exception as error:
                wrong.append(error)

        rounds: list[int] = []
        thread = threading.Thread(target=read)
        thread.start()
        wait_until(lambda: bool(rounds or wrong), "a job before the death")
        ring.kill(number)
        count = len(rounds)
        wait_until(lambda: bool(wrong) or len(rounds) > count + 2, "jobs after the death")
        done.set()
        thread.join()
        assert wrong == []
    ring.start(number)
    ring.wait_whole(5)


PROGRAM = """
import os, signal, sys
from pyrite import SparkConf, SparkContext
conf = SparkConf().setMaster("local-cluster[3,1,256m]").set("pyrite.ring", "own")
sc = SparkContext(conf=conf)
rows = sc.parallelize(range(1000), 6).map(lambda x: x * x).tag("squares")
print(rows.sum(), len(sc._own_ring._members), sc._own_ring.folder, flush=True)
if sys.argv[1] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1] == "stopped":
    sc.stop()
"""


@pytest.mark.parametrize("end", ["stopped", "left", "killed"])
def test_a_ring_of_its_own_ends_with_the_application(end: str, tmp_path: Path) -> None:
    rings = tmp_path / "rings"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, end],
        env={**os.environ, "PYRITE_RINGS": str(rings)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == (-signal.SIGKILL if end == "killed" else 0), done.stderr
    total, members, folder = done.stdout.split()
    assert int(total) == sum(x * x for x in range(1000)) and members == "3"
    wait_until(lambda: not os.path.exists(folder), "the end of the members' folders")
    wait_until(lambda: not list(rings.glob("own-*")), "the end of the ring's file")
