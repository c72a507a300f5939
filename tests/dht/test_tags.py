"""Results that programs keep in a ring under a name, and reuse."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from realrings import RealRing, wait_until

from pyrite import SparkConf, SparkContext
from pyrite.driver.tags.tagstore import TagStore
from pyrite.errors import UserError

RING = "tags"
# Many programs, one after the other.
pytestmark = pytest.mark.timeout(500)

PROGRAM = """
import os
from pyrite import SparkConf, SparkContext

LIMIT = 3
WORDS = {"the", "quick", "brown", "fox"}

def is_short(word):
    with open(os.environ["LOG"], "a") as log:
        log.write("x")
    return len(word) > LIMIT and word not in WORDS

def pairs(line):
    return [(word, 1) for word in line.split() if is_short(word)]

conf = SparkConf().setMaster("local[2]").set("pyrite.ring", "tags")
with SparkContext(conf=conf) as sc:
    counts = sc.textFile("dht://tags/words").flatMap(pairs).reduceByKey(lambda a, b: a + b, 3)
    print(sorted(counts.tag("counts").collect()))
"""
WORDS = "one three seven fox jumps over the lazy dog\n" * 50


@pytest.fixture(scope="module")
def sc(ring: RealRing) -> Iterator[SparkContext]:
    conf = SparkConf().setMaster("local[2]").set("pyrite.ring", ring.name)
    with SparkContext(conf=conf) as made:
        yield made


class Runs:
    """Runs versions of one program, and tells whether its functions have run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0

    def computes(self, program: str = PROGRAM, seed: str = "random") -> tuple[bool, str]:
        self.count += 1
        path, log = self.folder / f"program{self.count}.py", self.folder / f"log{self.count}"
        path.write_text(program)
        done = subprocess.run(
            [sys.executable, path],
            env={**os.environ, "PYTHONHASHSEED": seed, "LOG": str(log)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return log.exists(), done.stdout


def test_a_program_of_the_same_fingerprint_runs_no_map(ring: RealRing, tmp_path: Path) -> None:
    fs = fsspec.filesystem("dht", ring=ring.name)
    fs.pipe_file("/words", WORDS.encode())
    runs = Runs(tmp_path)
    computed, first = runs.computes(seed="1")
    assert computed and "jumps" in first
    assert runs.computes(seed="2") == (False, first)
    assert runs.computes("# moved\n\n" + PROGRAM, seed="3") == (False, first)
    # A constant, a function that is called, a global, the partitions.
    for old, new in [
        ("LIMIT = 3", "LIMIT = 4"),
        ("len(word) > LIMIT", "len(word) >= LIMIT"),
        ('"quick", ', '"over", '),
        ("a + b, 3", "a + b, 2"),
    ]:
        changed = PROGRAM.replace(old, new)
        assert changed != PROGRAM
        assert runs.computes(changed)[0], f"{new} was not noticed"
    assert not runs.computes(changed)[0], "the last one is kept"
    assert runs.computes() == (True, first), "the last one has replaced it"
    fs.pipe_file("/words", WORDS.replace("jumps", "leaps").encode())
    computed, other = runs.computes()
    assert computed and "leaps" in other


def test_tagged_rows_are_there_for_others(sc: SparkContext) -> None:
    rows = [(number % 7, f"row {number}") for number in range(1000)]
    kept = sc.parallelize(rows, 5).tag("rows of mine")
    assert sorted(kept.collect()) == sorted(rows)
    assert kept.getNumPartitions() == 5
    other = sc.tagged("rows of mine")
    assert other.glom().collect() == kept.glom().collect()
    assert other.filter(lambda row: row[0] == 3).count() == sum(row[0] == 3 for row in rows)


def test_what_is_unknown_has_near_names(sc: SparkContext) -> None:
    sc.parallelize([1]).tag("results of may")
    with pytest.raises(UserError, match="did you mean 'results of may'"):
        sc.tagged("results of mai")
    with pytest.raises(UserError, match=r"sc\.tags"):
        sc.untag("zzzzz")


def test_broadcasts_count_as_tasks_see_them(sc: SparkContext) -> None:
    def doubled(start: int, then: int) -> list[int]:
        known = sc.broadcast([start])
        known.value[0] = then
        rows = sc.parallelize([1, 2], 1).map(lambda row: row * known.value[0])
        return rows.tag("by broadcast").collect()

    assert doubled(2, 7) == [2, 4]
    assert doubled(7, 7) == [7, 14]
    assert doubled(2, 2) == [2, 4]


class Scale:
    """What a test's functions read."""

    by = 1


def test_classes_count_as_they_were_pickled(sc: SparkContext) -> None:
    # As a class of a program itself: pickled by value.
    Scale.__module__ = "__main__"

    def scaled(first: int, then: int) -> list[int]:
        Scale.by = first
        kept = sc.parallelize([1, 2], 1).map(lambda row: row * Scale.by).persist()
        kept.count()
        Scale.by = then
        rows = kept.map(lambda row: row + Scale.by).tag("by class").collect()
        assert Scale.by == then, "the program's own class stays as it is"
        return rows

    first = scaled(5, 100)
    assert scaled(6, 100) != first


def test_tags_are_listed_and_removed(sc: SparkContext) -> None:
    sc.parallelize(range(100), 2).tag("a/b ?#%")
    [tag] = [each for each in sc.tags() if each.name == "a/b ?#%"]
    assert tag.bytes > 100 and tag.age_s >= 0 and tag.partitions == 2
    sc.untag("a/b ?#%")
    assert "a/b ?#%" not in [each.name for each in sc.tags()]
    with pytest.raises(UserError):
        sc.tagged("a/b ?#%")


def test_a_different_fingerprint_replaces(sc: SparkContext) -> None:
    assert sc.parallelize([1, 2]).tag("same").collect() == [1, 2]
    assert sc.parallelize([3]).tag("same").collect() == [3]
    assert sc.tagged("same").collect() == [3]


def test_what_cant_be_read_is_computed_again(sc: SparkContext, tmp_path: Path) -> None:
    total = sc.accumulator(0)

    def count(row: int) -> int:
        total.add(1)
        return row

    for turn in (1, 2):
        assert sc.parallelize([1, 2, 3], 1).map(count).tag("counted").count() == 3
        assert total.value == 3 * turn


def test_time_to_live(sc: SparkContext) -> None:
    sc.parallelize([1]).tag("short", ttl=0.5)
    wait_until(lambda: "short" not in [each.name for each in sc.tags()], "the end of its time")
    with pytest.raises(UserError):
        sc.tagged("short")


def test_a_failed_job_leaves_the_last_result(sc: SparkContext, ring: RealRing) -> None:
    sc.parallelize([1]).tag("steady")
    with pytest.raises(Exception, match="ZeroDivisionError"):
        sc.parallelize([1, 2], 2).map(lambda row: 1 // (row - 2)).tag("steady")
    assert sc.tagged("steady").collect() == [1]
    fs = fsspec.filesystem("dht", ring=ring.name)
    assert len(fs.ls("/tags/steady")) == 2, "a manifest and one run"


def test_a_late_task_does_not_bring_back_what_was_discarded(ring: RealRing) -> None:
    store = TagStore(ring.name)

    def discarding(run: str) -> Iterator[int]:
        yield 1
        store.discard(run)
        yield 2

    for rows in (lambda run: iter([1, 2]), discarding):
        run = store.begin("late")
        assert store.write(run, 0, 3, [1, 2, 3]) > 0
        if rows is not discarding:
            store.discard(run)
        with pytest.raises(FileNotFoundError):
            store.write(run, 1, 3, rows(run))
        assert not store.fs.exists(run)
        assert store.fs.find(run) == []


def test_one_copy_is_one_copy(sc: SparkContext, ring: RealRing) -> None:
    one = sc.parallelize(range(20_000), 1).tag("one copy", copies=1)
    assert one.count() == 20_000
    fs: Any = fsspec.filesystem("dht", ring=ring.name)
    [path] = [each for each in fs.find("/tags/one%20copy") if "part-" in each]
    blocks = fs.file_at(path).blocks
    assert blocks
    for block in blocks:
        assert [is_good for _, is_good in fs.client.check(block, repairs=False)] == [True]
        found = list(ring.folder.glob(f"m*/blocks/*/{block.name}"))
        assert len(found) == 1


@pytest.mark.parametrize(
    "wrong", [{"ttl": 0}, {"ttl": -1}, {"copies": 0}, {"copies": 4}, {"name": ""}]
)
def test_wrong_arguments(sc: SparkContext, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        sc.parallelize([1]).tag(**{"name": "wrong", **wrong})


def test_partitioners_stay(sc: SparkContext) -> None:
    pairs = sc.parallelize([(number, number) for number in range(50)]).partitionBy(4)
    kept = pairs.tag("by key")
    assert kept.partitioner == pairs.partitioner
    assert kept.join(pairs).count() == 50


def test_tags_need_a_ring(tmp_path: Path) -> None:
    code = (
        "from pyrite import SparkContext\n"
        "with SparkContext('local[1]') as sc:\n"
        "    try: sc.parallelize([1]).tag('x')\n"
        "    except Exception as error: print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "UserError" in done.stdout and "pyrite.ring" in done.stdout
