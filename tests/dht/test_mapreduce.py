"""EclipseMR's seven applications on a ring: what they give, reuse, and go on from."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
from realrings import RealRing

from pyrite import RDD, SparkConf, SparkContext
from pyrite.lib import applications as apps
from pyrite.lib.mapreduce import forget, iterate, mapreduce

RING = "mapreduce"
pytestmark = pytest.mark.timeout(300)
LINES = [f"line {number % 17} of word{number % 5} and error{number % 3}" for number in range(2000)]


@pytest.fixture(scope="module")
def sc(ring: RealRing) -> Iterator[SparkContext]:
    fsspec.filesystem("dht", ring=ring.name).pipe_file("/text", "\n".join(LINES).encode())
    conf = SparkConf().setMaster("local[2]").set("pyrite.ring", ring.name)
    with SparkContext(conf=conf) as made:
        yield made


@pytest.fixture
def lines(sc: SparkContext) -> RDD[str]:
    return sc.textFile(f"dht://{RING}/text", 4)


def test_word_count(lines: RDD[str]) -> None:
    found = dict(apps.word_count(lines).collect())
    assert found == Counter(word for line in LINES for word in line.split())


def test_inverted_index(lines: RDD[str]) -> None:
    documents = lines.zipWithIndex().map(lambda pair: (f"d{pair[1]:04}", pair[0]))
    found = dict(apps.inverted_index(documents).collect())
    assert found["word3"] == [f"d{index:04}" for index in range(3, 2000, 5)]
    assert found["of"] == [f"d{index:04}" for index in range(2000)]


def test_grep(lines: RDD[str]) -> None:
    expected = Counter(line for line in LINES if "error2" in line)
    assert dict(apps.grep(lines, r"error[2-9]").collect()) == expected


def test_sort(lines: RDD[str]) -> None:
    assert apps.sort(lines).collect() == sorted(LINES)


def test_page_rank(sc: SparkContext) -> None:
    links = {"a": ["b", "c"], "b": ["c"], "c": ["a"], "d": ["c"]}
    ranks = dict.fromkeys(links, 1.0)
    for _ in range(4):
        given = dict.fromkeys(links, 0.0)
        for page, targets in links.items():
            for target in targets:
                given[target] += ranks[page] / len(targets)
        ranks = {page: 0.15 + 0.85 * each for page, each in given.items()}
    found = dict(apps.page_rank(sc.parallelize(list(links.items()), 3), times=4).collect())
    assert found == pytest.approx(ranks)


def test_k_means(sc: SparkContext) -> None:
    dice = random.Random(1)
    around = [(0.0, 0.0), (10.0, 0.0), (0.0, 10.0)]
    points = [
        (x + dice.gauss(0, 0.5), y + dice.gauss(0, 0.5)) for x, y in around for _ in range(100)
    ]
    found = apps.k_means(sc.parallelize(points, 4), [(1.0, 1.0), (8.0, 1.0), (1.0, 8.0)], times=3)
    assert all(math.dist(center, place) < 0.3 for center, place in zip(found, around, strict=True))


def test_logistic_regression(sc: SparkContext) -> None:
    dice = random.Random(2)
    labels = [dice.choice((1.0, -1.0)) for _ in range(200)]
    points = [(each, (each * 2 + dice.gauss(0, 0.5), dice.gauss(0, 0.5))) for each in labels]
    weights = apps.logistic_regression(sc.parallelize(points, 4), times=5, rate=0.1)
    right = sum(
        label * sum(w * x for w, x in zip(weights, values, strict=True)) > 0
        for label, values in points
    )
    assert right > 190


class Marked:
    """Leaves a mark for each line that a map is run for."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "marks")

    def __call__(self, line: str) -> list[tuple[str, int]]:
        with open(self.path, "a") as file:
            file.write("x")
        return [(word, 1) for word in line.split()]

    def take(self) -> int:
        path = Path(self.path)
        count = path.stat().st_size if path.exists() else 0
        path.unlink(missing_ok=True)
        return count


def test_the_next_job_with_the_same_map_runs_none(lines: RDD[str], tmp_path: Path) -> None:
    marked = Marked(tmp_path)

    def most(_: str, counts: object) -> int:
        return max(counts)  # type: ignore[call-overload, no-any-return]

    def count(_: str, counts: object) -> int:
        return sum(counts)  # type: ignore[call-overload, no-any-return]

    for reduce, maps in [(count, len(LINES)), (count, 0), (most, 0)]:
        found = dict(mapreduce(lines, marked, reduce, reuse="words").collect())
        assert marked.take() == maps
        assert found["of"] == (2000 if reduce is count else 1)
    ordered = mapreduce(lines, marked, count, ordered=True, reuse="ordered words")
    words = {word for line in LINES for word in line.split()}
    assert [key for key, _ in ordered.collect()] == sorted(words)
    assert marked.take() == len(LINES)
    assert mapreduce(lines, marked, most, ordered=True, reuse="ordered words").count()
    assert marked.take() == 0


def test_an_interrupted_iteration_goes_on(sc: SparkContext, tmp_path: Path) -> None:
    path = str(tmp_path / "steps")

    def double(row: int) -> int:
        with open(path, "a") as file:
            file.write("x")
        return row * 2

    def step(rows: RDD[int]) -> RDD[int]:
        return rows.map(double)

    first = sc.parallelize([1, 2, 3], 2)
    assert iterate(first, step, 3, keep="doubled").collect() == [8, 16, 24]
    assert Path(path).stat().st_size == 9
    # As another program that is told to take more steps.
    again = iterate(sc.parallelize([1, 2, 3], 2), step, 5, keep="doubled")
    assert again.collect() == [32, 64, 96]
    assert Path(path).stat().st_size == 15
    forget(again, "doubled")
    assert not [tag for tag in sc.tags() if tag.name.startswith("doubled/")]
