"""Word count: split lines, count every word, collect the counts."""

from itertools import chain
from operator import add
from typing import Any

from benchmarks.checksum import checksum
from benchmarks.data import DataFolder
from benchmarks.pair import Pair, lines_of_half
from benchmarks.stopwatch import Stopwatch

ROWS = ("word count",)
LINES = {"small": 20_000, "standard": 500_000}


def inputs(data: DataFolder, scale: str) -> str:
    return data.text(LINES[scale], words_per_line=10)


def words_of(line: str) -> list[str]:
    return line.split(" ")


def counted_once(word: str) -> tuple[str, int]:
    return word, 1


def rdd(sc: Any, path: str, watch: Stopwatch) -> Any:
    with watch.timed(ROWS[0]):
        pairs = sc.textFile(path).flatMap(words_of).map(counted_once)
        counts = pairs.reduceByKey(add).collectAsMap()
    return _answer(counts)


def hand(path: str, watch: Stopwatch) -> Any:
    with Pair(_count_half, path) as pair, watch.timed(ROWS[0]):
        counts, others = pair.ask()
        for word, count in others.items():
            counts[word] = add(counts[word], count) if word in counts else count
    return _answer(counts)


def _count_half(peer: Any, path: str) -> Any:
    words = chain.from_iterable(map(words_of, lines_of_half(path, peer.index)))
    counts: dict[str, int] = {}
    for word, one in map(counted_once, words):
        counts[word] = add(counts[word], one) if word in counts else one
    yield counts


def _answer(counts: dict[str, int]) -> Any:
    return [len(counts), sum(counts.values()), checksum(counts.items())]
