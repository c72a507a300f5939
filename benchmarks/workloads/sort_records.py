"""Sort of 100-byte records by their first 10 bytes, as in the sort benchmarks."""

from bisect import bisect
from collections.abc import Iterable, Iterator
from itertools import pairwise
from operator import le
from typing import Any
from zlib import crc32

from benchmarks.data import DataFolder
from benchmarks.pair import Pair, half
from benchmarks.stopwatch import Stopwatch

ROWS = ("sort of 100-byte records",)
RECORDS = {"small": 20_000, "standard": 600_000}
RECORD_BYTES = 100
KEY_BYTES = 10
SAMPLE_STEP = 997


def inputs(data: DataFolder, scale: str) -> tuple[str, int]:
    return data.sort_records(RECORDS[scale]), RECORDS[scale]


def key_of(record: bytes) -> bytes:
    return record[:KEY_BYTES]


def described(partition: Iterable[bytes]) -> Iterator[tuple[int, bool, bytes, bytes, int]]:
    """How many, whether in order, the first and last key, and a sum over all bytes."""
    records = list(partition)
    if records:
        keys = [record[:KEY_BYTES] for record in records]
        in_order = all(map(le, keys, keys[1:]))
        yield len(records), in_order, keys[0], keys[-1], sum(map(crc32, records))


def rdd(sc: Any, source: tuple[str, int], watch: Stopwatch) -> Any:
    with watch.timed(ROWS[0]):
        records = sc.binaryRecords(source[0], RECORD_BYTES)
        parts = records.sortBy(key_of, numPartitions=2).mapPartitions(described).collect()
    return _answer(parts)


def hand(source: tuple[str, int], watch: Stopwatch) -> Any:
    with Pair(_sort_half, *source) as pair, watch.timed(ROWS[0]):
        parts = [part for parts in pair.ask() for part in parts]
    return _answer(parts)


def _sort_half(peer: Any, path: str, count: int) -> Any:
    mine = half(count, peer.index)
    with open(path, "rb") as file:
        file.seek(mine.start * RECORD_BYTES)
        data = file.read(len(mine) * RECORD_BYTES)
    records = [data[at : at + RECORD_BYTES] for at in range(0, len(data), RECORD_BYTES)]
    sample = [key_of(record) for record in records[::SAMPLE_STEP]]
    sample = sorted(sample + peer.exchange(sample))
    bounds = [sample[len(sample) // 2]]
    parts: tuple[list[bytes], list[bytes]] = ([], [])
    for record in records:
        parts[bisect(bounds, key_of(record))].append(record)
    taken = peer.exchange(b"".join(parts[1 - peer.index]))
    kept = parts[peer.index]
    kept += [taken[at : at + RECORD_BYTES] for at in range(0, len(taken), RECORD_BYTES)]
    kept.sort(key=key_of)
    yield list(described(kept))


def _answer(parts: list[tuple[int, bool, bytes, bytes, int]]) -> Any:
    counts, in_order, _firsts, _lasts, sums = zip(*parts, strict=True)
    borders_in_order = all(left[3] <= right[2] for left, right in pairwise(parts))
    return [
        sum(counts),
        all(in_order) and borders_in_order,
        parts[0][2].hex(),
        parts[-1][3].hex(),
        sum(sums),
    ]
