"""Every row that a map task deals out reaches its reducer, once, spilled or not."""

import contextlib
import itertools
import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyrite.blocks.segments import Folders, SegmentReader
from pyrite.blocks.writer import SegmentWriter
from pyrite.bounded.space import Space
from pyrite.hashing import portable_hash
from pyrite.ids import BlockRef, ExecutorId, NodeId, ShuffleId
from pyrite.rdd.partitioner import ByKey, ByRange, Partitioner, RangeFunc, Router, Spread
from pyrite.shuffle.read import MissingMapOutput, ShuffleRows
from pyrite.shuffle.write import write_map_output

NODE = NodeId("node-0")

WRITERS = count()


class Node:
    """A folder with a writer and a reader."""

    def __init__(self, folder: Path, over: bool = False) -> None:
        self.folders = Folders(str(folder), str(folder), NODE)
        self.writer = SegmentWriter(self.folders, ExecutorId(next(WRITERS)), lambda _want: NODE)
        self.reader = SegmentReader(self.folders)
        # A measure that is too high at every second look: each time something must be freed.
        high = itertools.cycle([0, 1 << 41]) if over else itertools.repeat(0)
        self.space = Space(1 << 40, str(folder), measure=lambda: next(high))

    def write(self, rows: list[Any], router: Router, parts: int) -> BlockRef:
        ref, sizes = write_map_output(iter(rows), 0, router, parts, self.space, self.writer)
        # Behind the offsets lie the parts, and nothing else.
        assert len(sizes) == parts and sum(sizes) == ref.length - 8 * (parts + 2)
        return ref

    def read(self, refs: list[BlockRef], part: int) -> list[Any]:
        return list(ShuffleRows(ShuffleId(0), refs, part, self.reader).rows())


pairs = st.lists(st.tuples(st.one_of(st.integers(), st.text(), st.none()), st.integers()))


@settings(max_examples=50, suppress_health_check=list(HealthCheck))
@given(maps=st.lists(pairs, max_size=4), parts=st.integers(1, 7), over=st.booleans())
def test_rows_go_where_the_partitioner_says_in_the_order_of_the_maps(
    tmp_path: Path, maps: list[list[Any]], parts: int, over: bool
) -> None:
    node = Node(tmp_path, over)
    router = ByKey(Partitioner(parts, portable_hash))
    refs = [node.write(rows, router, parts) for rows in maps]
    for part in range(parts):
        expected = [row for rows in maps for row in rows if portable_hash(row[0]) % parts == part]
        assert node.read(refs, part) == expected
    node.space.close()


def test_spilled_frames_are_removed_after_the_task(tmp_path: Path) -> None:
    node = Node(tmp_path, over=True)
    rows = [(number, number) for number in range(20_000)]
    ref = node.write(rows, ByKey(Partitioner(2, portable_hash)), 2)
    assert node.space.spilled_bytes > 0
    node.space.close()
    assert node.read([ref], 0) == rows[::2]
    assert os.listdir(tmp_path) == [ref.segment]


def test_an_operator_before_it_has_the_output_spill_first(tmp_path: Path) -> None:
    """The operator's own rows would have to be read again."""
    node = Node(tmp_path)
    is_high = False
    node.space = space = Space(
        64 << 20,
        str(tmp_path),
        measure=lambda: 65 << 20 if is_high and not space.spilled_bytes else 0,
    )
    answers: list[bool] = []

    def rows() -> Iterator[tuple[int, bytes]]:
        nonlocal is_high
        yield from ((number, bytes([number % 251]) * 1000) for number in range(5000))
        is_high = True
        answers.append(space.over())
        yield 5000, b"last"

    write_map_output(rows(), 0, ByKey(Partitioner(2, portable_hash)), 2, space, node.writer)
    assert answers == [False] and space.spilled_bytes > 3_000_000


def test_spread_deals_evenly(tmp_path: Path) -> None:
    node = Node(tmp_path)
    ref = node.write(list(range(10_001)), Spread(), 4)
    sizes = sorted(len(node.read([ref], part)) for part in range(4))
    assert sizes == [2500, 2500, 2500, 2501]


@pytest.mark.parametrize("ascending", [True, False])
def test_ranges(tmp_path: Path, ascending: bool) -> None:
    node = Node(tmp_path)
    ref = node.write([5, 1, 9, 3], ByRange(RangeFunc([3, 6], None, ascending)), 3)
    found = [node.read([ref], part) for part in range(3)]
    assert found == ([[1, 3], [5], [9]] if ascending else [[9], [5], [1, 3]])


def test_a_key_function_that_raises_stop_iteration_loses_nothing_silently(tmp_path: Path) -> None:
    def key(row: int) -> int:
        if row == 2:
            raise StopIteration
        return row

    with pytest.raises(RuntimeError, match="StopIteration"):
        Node(tmp_path).write([1, 2, 3], ByRange(RangeFunc([2], key, True)), 2)


def test_a_lost_or_corrupt_output_is_named(tmp_path: Path) -> None:
    node = Node(tmp_path)
    router = ByKey(Partitioner(1, portable_hash))
    good = node.write([(1, 1)], router, 1)
    path = Path(node.folders.path(good.segment, good.medium))
    data = bytearray(path.read_bytes()[: good.length])
    data[-9] ^= 1
    Path(tmp_path, "bad").write_bytes(bytes(data))
    for bad in (BlockRef(NODE, "bad", 0, good.length), BlockRef(NODE, "gone", 0, 10)):
        with pytest.raises(MissingMapOutput) as caught:
            node.read([good, bad], 0)
        assert (caught.value.shuffle, caught.value.lost) == (0, [(1, bad)])


def test_no_changed_byte_gives_other_rows(tmp_path: Path) -> None:
    node = Node(tmp_path)
    rows = [(key, str(key)) for key in range(6)]
    good = node.write(rows, ByKey(Partitioner(3, portable_hash)), 3)
    path = Path(node.folders.path(good.segment, good.medium))
    data = path.read_bytes()[: good.length]
    right = [node.read([good], part) for part in range(3)]
    for place in range(len(data)):
        spoilt = bytearray(data)
        spoilt[place] ^= 1 << place % 8
        Path(tmp_path, f"{place}").write_bytes(bytes(spoilt))
        for part in range(3):
            with contextlib.suppress(MissingMapOutput):
                found = node.read([BlockRef(NODE, f"{place}", 0, good.length)], part)
                assert found == right[part], f"byte {place} changed part {part}"
