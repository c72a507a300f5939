"""Large rows that say which they are, and how tasks look at them.

Tasks import this module, so it needs nothing that takes memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from pyrite.hashing import portable_hash

if TYPE_CHECKING:
    from pyrite import RDD, SparkContext

MIB = 1 << 20
EXECUTORS = 2
EXECUTOR_BYTES = 32 * MIB
POOL_BYTES = 2 * MIB
# The driver is a node too.
MEMORY_BYTES = EXECUTORS * EXECUTOR_BYTES + 3 * POOL_BYTES
TIMES = 3

MAPS = 96
REDUCERS = 4
ROW_BYTES = 6 << 10
# So many rows are a little more than that.
ROWS = (TIMES * MEMORY_BYTES // ROW_BYTES + 1000) // 4 * 4
KEYS = ROWS // 2
# The keys from here on are those of the right side of a join.
HALF = KEYS // 2
# A piece of what is merged as a tree, one per partition.
PIECE_BYTES = MIB
PIECES = TIMES * MEMORY_BYTES // PIECE_BYTES + 4

# Small values, in few maps: each map and each reducer has several times what memory holds.
WORD_BYTES = 400
COLD_WORDS = 20_000
WORDS = TIMES * MEMORY_BYTES // WORD_BYTES // 2 * 2 + COLD_WORDS
HOT_WORD = -1


def load(number: int, size: int = ROW_BYTES) -> bytes:
    """Bytes that say which they are, in the order of the numbers."""
    return number.to_bytes(8, "big") * (size // 8)


class Tally(NamedTuple):
    """What is remembered of a partition's rows: how many, the sum of their numbers, how many are
    wrong, and what the task had spilled when the last had come."""

    rows: int
    numbers: int
    wrong: int
    spilled_bytes: int


def pairs(
    sc: SparkContext, first: int = 0, last: int = ROWS, keys: int = KEYS, maps: int = MAPS
) -> RDD[Any]:
    """Rows with large values; each key comes in two of the maps."""
    return sc.range(first, last, numSlices=maps).map(lambda x: (x % keys, load(x)))


def hot_pairs(sc: SparkContext) -> RDD[Any]:
    """Rows of one key, of which each map has more than memory holds."""
    return pairs(sc, keys=1, maps=EXECUTORS)


def hot_words(sc: SparkContext) -> RDD[Any]:
    """Many keys with a small value each, then one with more small values than memory holds."""
    return sc.range(WORDS, numSlices=EXECUTORS).map(
        lambda x: (x if is_cold(x) else HOT_WORD, b"%0*d" % (WORD_BYTES, x))
    )


def is_cold(word: int) -> bool:
    return word % (WORDS // EXECUTORS) < COLD_WORDS // EXECUTORS


def cold_words() -> list[int]:
    return list(filter(is_cold, range(WORDS)))


def left(sc: SparkContext) -> RDD[Any]:
    return pairs(sc, 0, KEYS, ROWS)


def right(sc: SparkContext) -> RDD[Any]:
    """As many rows; the first half of the keys are on the left too."""
    return pairs(sc, HALF, HALF + KEYS, ROWS)


def values(sc: SparkContext, first: int, last: int, keys: int) -> RDD[Any]:
    return pairs(sc, first, last, keys).map(lambda pair: load(pair[0]))


def look_at_largest(row: Any) -> tuple[int, bool]:
    key, value = row
    return key, value == load(key + KEYS)


def look_at_group(row: Any) -> tuple[int, bool]:
    key, group = row
    return key, sorted(group) == [load(key), load(key + KEYS)]


def look_at_rows(row: Any) -> tuple[int, bool]:
    key, group = row
    return key, sorted(group) == [(key, load(key)), (key, load(key + KEYS))]


def look_at_row(row: Any) -> tuple[int, bool]:
    key, value = row
    number = int.from_bytes(value[:8], "big")
    return number, value == load(number) and key == number % KEYS


def look_at_value(value: Any) -> tuple[int, bool]:
    number = int.from_bytes(value[:8], "big")
    return number, value == load(number)


def look_at_hot_group(row: Any) -> tuple[int, bool]:
    """A group of all rows."""
    key, group = row
    count = total = wrong = 0
    for value in group:
        number, is_right = look_at_value(value)
        count, total, wrong = count + 1, total + number, wrong + (not is_right)
    return key, (count, total, wrong) == (ROWS, sum(range(ROWS)), 0)


def look_at_word_group(row: Any) -> tuple[int, bool]:
    """A group of one small value, or of all the hot ones."""
    key, group = row
    count = total = 0
    for value in group:
        count, total = count + 1, total + int(value)
    if key != HOT_WORD:
        return key, (count, total) == (1, key)
    expected = WORDS - len(cold_words()), sum(range(WORDS)) - sum(cold_words())
    return key, (count, total) == expected and len(group) == count


def look_at_all_hot_groups(row: Any) -> tuple[int, bool]:
    """The same hot group on every side."""
    key, groups = row
    return key, all(look_at_hot_group((key, group))[1] for group in groups)


def look_at_hot_groups(row: Any) -> tuple[int, bool]:
    key, (group, other) = row
    return key, look_at_hot_group((key, group))[1] and list(other) == [7]


def side(key: int, is_there: bool) -> bytes | None:
    return load(key) if is_there else None


def look_at_joined(row: Any) -> tuple[int, bool]:
    """Rows of all joins: what a side does not have is None."""
    key, (one, other) = row
    return key, one == side(key, key < KEYS) and other == side(key, key >= HALF)


def look_at_both(row: Any) -> tuple[int, bool]:
    key, (one, other) = row
    in_one, in_other = [load(key)] * (key < KEYS), [load(key)] * (key >= HALF)
    return key, list(one) == in_one and list(other) == in_other


def look_at_left(row: Any) -> tuple[int, bool]:
    key, value = row
    return key, key < HALF and value == load(key)


def list_of(value: bytes) -> list[bytes]:
    return [value]


def with_one_more(values: list[bytes], value: bytes) -> list[bytes]:
    values.append(value)
    return values


def with_more(values: list[bytes], more: list[bytes]) -> list[bytes]:
    values.extend(more)
    return values


def largest(one: bytes, other: bytes) -> bytes:
    return max(one, other)


def only_of_partition(index: int, rows: Iterator[Any]) -> Iterator[Any]:
    return (row for row in rows if portable_hash(row[0]) % REDUCERS == index)


def tally(
    rows: Iterator[Any], look: Callable[[Any], tuple[int, bool]], folders: list[str], in_order: bool
) -> Iterator[Tally]:
    """Looks at rows one after another, and at what this process has spilled."""
    count = total = wrong = 0
    before = None
    for row in rows:
        number, is_right = look(row)
        is_right = is_right and not (in_order and before is not None and number > before)
        before = number
        count, total, wrong = count + 1, total + number, wrong + (not is_right)
    prefix = f"spill-{os.getpid()}-"
    files = [
        os.path.join(folder, name)
        for folder in folders
        if os.path.isdir(folder)
        for name in os.listdir(folder)
        if name.startswith(prefix)
    ]
    yield Tally(count, total, wrong, sum(map(os.path.getsize, files)))
