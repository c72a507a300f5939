"""A map output in installments has the rows of one that is written at the end, in their order."""

from __future__ import annotations

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
from pyrite.ids import BlockRef, NodeId, ShuffleId
from pyrite.rdd.partitioner import ByKey, Partitioner
from pyrite.shuffle.read import Block, MapBlocks, MissingMapOutput, ShuffleRows
from pyrite.shuffle.write import Buffer, write_map_output

NODE = NodeId("node-0")
PARTS = 3
OWNERS = count()


class MapTask:
    """Writes outputs with a buffer, and numbers their blocks as the driver would."""

    def __init__(self, folder: Path, buffer_bytes: int, over: bool = False) -> None:
        self.folders = Folders(str(folder), str(folder), NODE)
        self.writer = SegmentWriter(self.folders, f"e{next(OWNERS)}", lambda _want: NODE)
        self.space = Space(1 << 40, str(folder))
        self.space.chunk_rows = 2
        if over:
            self.space.over = lambda: True  # type: ignore[method-assign]
        self.told: list[tuple[BlockRef, list[int]]] = []
        self.buffer = Buffer(buffer_bytes, lambda ref, sizes: self.told.append((ref, sizes)))
        self.refs: list[BlockRef] = []
        self.installments: list[Block] = []

    def write(self, rows: list[Any]) -> list[tuple[BlockRef, list[int]]]:
        """All blocks of one map's output."""
        self.told = []
        router = ByKey(Partitioner(PARTS, portable_hash))
        last = write_map_output(iter(rows), 0, router, PARTS, self.space, self.writer, self.buffer)
        index = len(self.refs)
        self.refs.append(last[0])
        blocks = [*self.told, last]
        if len(blocks) > 1:
            numbers = range(100 + len(self.installments), 1000)
            self.installments += [
                Block(number, index, ref) for number, (ref, _) in zip(numbers, blocks, strict=False)
            ]
        return blocks

    def read(self, part: int, maps: range | None = None) -> list[Any]:
        outputs = MapBlocks(self.refs, self.installments)
        reader = SegmentReader(self.folders)
        return list(ShuffleRows(ShuffleId(0), outputs, part, reader, (), maps).rows())


def rows_of(maps: list[list[int]], part: int) -> list[Any]:
    return [(key, key) for keys in maps for key in keys if portable_hash(key) % PARTS == part]


@settings(max_examples=50, suppress_health_check=list(HealthCheck))
@given(
    maps=st.lists(st.lists(st.integers(0, 20)), max_size=4),
    buffer_bytes=st.sampled_from([1, 60, 200, 1 << 30]),
    over=st.booleans(),
)
def test_reducers_read_the_same_rows_in_the_same_order(
    tmp_path: Path, maps: list[list[int]], buffer_bytes: int, over: bool
) -> None:
    task = MapTask(tmp_path, buffer_bytes, over)
    for keys in maps:
        for ref, sizes in task.write([(key, key) for key in keys]):
            assert len(sizes) == PARTS and sum(sizes) == ref.length - 8 * (PARTS + 2)
    for part in range(PARTS):
        assert task.read(part) == rows_of(maps, part)
        assert task.read(part, range(1, len(maps))) == rows_of(maps[1:], part)


def test_a_block_is_written_whenever_the_buffer_is_full(tmp_path: Path) -> None:
    rows = [(key, bytes(100)) for key in range(40)]
    blocks = MapTask(tmp_path, 1000).write(rows)
    assert 3 <= len(blocks) <= 6
    assert all(sum(sizes) >= 1000 for _, sizes in blocks[:-1])
    [(_, sizes)] = MapTask(tmp_path, 1 << 30).write(rows)
    assert sum(sizes) > 4000


def test_who_pays_in_installments_spills_nothing(tmp_path: Path) -> None:
    task = MapTask(tmp_path, 1 << 30, over=True)
    assert len(task.write([(key, key) for key in range(10)])) == 6
    assert task.space.spilled_bytes == 0


def test_a_lost_installment_is_named_with_its_map_and_all_that_went_with_it(
    tmp_path: Path,
) -> None:
    task = MapTask(tmp_path, 1)
    task.write([(key, key) for key in range(6)])
    task.writer.close()
    task.write([(key, key) for key in range(6)])
    Path(task.folders.path(task.refs[1].segment)).unlink()
    with pytest.raises(MissingMapOutput) as caught:
        task.read(0)
    lost = [(block.map, block.ref) for block in task.installments if block.map == 1]
    assert len(lost) > 2 and caught.value.lost == lost
