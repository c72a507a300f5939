"""Inverted index: for every word the sorted list of the documents that hold it."""

from collections import defaultdict
from functools import reduce
from itertools import chain
from typing import Any
from zlib import crc32

from benchmarks.data import DataFolder
from benchmarks.pair import Pair, lines_of_half
from benchmarks.stopwatch import Stopwatch

ROWS = ("inverted index",)
DOCUMENTS = {"small": 1_000, "standard": 30_000}


def inputs(data: DataFolder, scale: str) -> str:
    return data.documents(DOCUMENTS[scale], words_each=100)


def postings_of(line: str) -> list[tuple[str, int]]:
    number, text = line.split("\t")
    document = int(number)
    return [(word, document) for word in set(text.split(" "))]


def fingerprint(entry: tuple[str, list[int]]) -> tuple[int, ...]:
    word, documents = entry
    return 1, len(documents), crc32(repr((word, documents[:5], documents[-5:])).encode())


def added(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(map(sum, zip(left, right, strict=True)))


def rdd(sc: Any, path: str, watch: Stopwatch) -> Any:
    with watch.timed(ROWS[0]):
        index = sc.textFile(path).flatMap(postings_of).groupByKey().mapValues(sorted)
        answer = index.map(fingerprint).reduce(added)
    return list(answer)


def hand(path: str, watch: Stopwatch) -> Any:
    with Pair(_index_half, path) as pair, watch.timed(ROWS[0]):
        answer = added(*pair.ask())
    return list(answer)


def _index_half(peer: Any, path: str) -> Any:
    groups: dict[str, list[int]] = defaultdict(list)
    for word, document in chain.from_iterable(map(postings_of, lines_of_half(path, peer.index))):
        groups[word].append(document)
    # The two processes are forks, so strings hash the same in both.
    kept: dict[str, list[int]] = {}
    given: dict[str, list[int]] = {}
    for word, documents in groups.items():
        (kept if hash(word) & 1 == peer.index else given)[word] = documents
    for word, documents in peer.exchange(given).items():
        if word in kept:
            kept[word] += documents
        else:
            kept[word] = documents
    entries = zip(kept, map(sorted, kept.values()), strict=True)
    yield reduce(added, map(fingerprint, entries))
