"""Jobs whose input lies on a ring: what stays in memory, where tasks go, and members that die."""

from __future__ import annotations

import contextlib
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
from pyrite.forecast.costs import CostModel, NodeKind
from pyrite.forecast.play import simulate
from pyrite.forecast.storymodel import read_story
from pyrite.lib.applications import word_count
from pyrite.schedule import commands as do
from pyrite.schedule.scheduler import Scheduler
from pyrite.story.read import StoryReader
from pyrite.story.records import TaskStarted

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
        conf.set(name if "." in name else "pyrite." + name.replace("_", "."), value)
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


def test_a_story_foretells_what_is_found_and_where(
    ring: RealRing, text: str, tmp_path: Path
) -> None:
    log = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": str(tmp_path)}
    with context(ring, laf_strict="true", ring_cache="16m", **log) as sc:
        for _ in range(2):
            assert sc.textFile(text).map(len).sum() == TOTAL
        real = sc.memory().inputs
    [path] = tmp_path.iterdir()
    model = CostModel()
    told = read_story(path, model)
    launched: list[do.LaunchTask] = []

    def listen(_at_s: float, _event: object, commands: list[do.Command]) -> None:
        launched.extend(each for each in commands if isinstance(each, do.LaunchTask))

    foretold = simulate(
        told.workload,
        [NodeKind(1, latency_s=0.0)] * 3,
        model,
        scheduler=Scheduler(told.rules),
        listeners=[listen],
    )
    assert not foretold.errors
    assert (foretold.tally.inputs_found, foretold.tally.inputs_read) == real
    assert real.found == real.read > 0
    # Executors have the numbers of their nodes, in the order in which they came.
    there = {(each.stage, each.partitions[0]): int(each.executor) for each in launched}
    assert shared(there) == shared(places(path))


def places(path: Path) -> dict[tuple[int, int], int]:
    """The executor of each task of a story."""
    with StoryReader(path) as reader:
        starts = [each for each in reader.records() if isinstance(each, TaskStarted)]
    return {(each.stage, each.partitions[0]): each.executor for each in starts}


def shared(places: dict[tuple[int, int], int]) -> set[frozenset[tuple[int, int]]]:
    """Which tasks ran at the same place, whatever its name."""
    executors = set(places.values())
    return {frozenset(task for task, each in places.items() if each == at) for at in executors}


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


@pytest.mark.parametrize("way", ["true", "false"])
def test_tagged_partitions_are_in_memory_at_once(ring: RealRing, way: str) -> None:
    parts = 12
    with context(ring, laf=way, laf_strict="true", ring_cache="16m") as sc:
        rows = sc.range(0, 12_000, numSlices=parts).map(lambda number: (number, "x" * 20))
        kept = rows.tag(f"kept {way}")
        before = sc.memory()
        assert before.inputs == (0, 0), "nothing was read yet"
        firsts = sum(min(part, 64 << 10) for part in sizes(ring, f"kept {way}"))
        assert sum(node.input_bytes for node in before.nodes) == firsts
        assert sum(node.input_bytes > 0 for node in before.nodes) > 1
        assert kept.count() == 12_000
        assert sc.tagged(f"kept {way}").collect() == rows.collect()
        found, read = sc.memory().inputs
        assert found + read == 2 * parts
        # Without ranges any idle node may take a task.
        assert read == 0 or way == "false"


def sizes(ring: RealRing, name: str) -> list[int]:
    fs = fsspec.filesystem("dht", ring=ring.name)
    files = fs.find(f"/tags/{name.replace(' ', '%20')}", detail=True)
    return [facts["size"] for path, facts in files.items() if "part-" in path]


def test_tagged_partitions_keep_to_the_limit(ring: RealRing) -> None:
    rows = [(number, "x" * 20) for number in range(12_000)]
    for limit in ("0", "100k"):
        with context(ring, ring_cache=limit) as sc:
            kept = sc.parallelize(rows, 12).tag(f"limited {limit}")
            most = max(node.input_bytes for node in sc.memory().nodes)
            assert most <= 100 << 10 if limit == "100k" else most == 0
            assert kept.collect() == rows


def test_what_a_failed_run_wrote_gives_its_memory_back(ring: RealRing) -> None:
    with context(ring, ring_cache="16m") as sc:

        def failing(number: int) -> int:
            if number == 11_999:
                raise ValueError(number)
            return number

        with pytest.raises(Exception, match="11999"):
            sc.range(0, 12_000, numSlices=2).map(failing).tag("failing")
        assert sum(node.input_bytes for node in sc.memory().nodes) <= 64 << 10


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
        for path in segments():
            with contextlib.suppress(OSError), path.open("r+b") as file:
                if b"a file on a ring" in file.read(4096):
                    file.seek(100)
                    file.write(b"spoilt bytes in memory")
                    spoilt += 1
        assert spoilt > 3
        assert sc.textFile(text).map(len).sum() == TOTAL
        assert sc.textFile(text).collect() == LINES


def segments() -> list[Path]:
    """The files in shared memory: other programs' come and go meanwhile."""
    return [Path(folder, name) for folder, _, names in os.walk("/dev/shm") for name in names]


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
