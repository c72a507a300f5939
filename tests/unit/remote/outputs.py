"""Map outputs made by hand, and prefetched segments looked into."""

import os
from collections.abc import Sequence
from pathlib import Path
from random import Random

from pyrite.blocks.fetched import ALIGNMENT, fetched_bytes, unpack_directory
from pyrite.blocks.parts import find_part, pack_header
from pyrite.blocks.segments import Folders
from pyrite.blocks.stretches import map_stretch
from pyrite.ids import Medium
from pyrite.remote.asking import ByteRange
from pyrite.remote.fetcher import FetchOrder

Parts = list[bytes]


def random_parts(random: Random, count: int, most_bytes: int = 5000) -> Parts:
    """The frames of an output's parts, some of them empty."""
    return [
        random.randbytes(random.choice([0, 1, random.randrange(most_bytes)])) for _ in range(count)
    ]


def lay(
    folders: Folders, segment: str, outputs: Sequence[Parts], medium: Medium = "memory"
) -> list[ByteRange]:
    """Writes the outputs into one segment, one behind another; where each lies."""
    blocks, data = [], b""
    for parts in outputs:
        block = pack_header([len(part) for part in parts]) + b"".join(parts)
        blocks.append(ByteRange(segment, len(data), len(block), medium))
        data += block
    Path(folders.path(segment, medium)).write_bytes(data)
    return blocks


def room_for(outputs: Sequence[Parts], parts: Sequence[int]) -> int:
    """How large a prefetched segment is ordered that shall hold the parts of the outputs."""
    frames = sum(len(output[part]) for output in outputs for part in parts)
    return fetched_bytes(len(outputs), len(parts), frames)


def unpack(folders: Folders, segment: str, parts: Sequence[int]) -> dict[int, Parts]:
    """What a prefetched segment holds: of each map output, the parts."""
    path = Path(folders.path(segment, "memory"))
    assert path.stat().st_mode & 0o777 == 0o600
    fetched = memoryview(path.read_bytes())
    found, end = {}, 0
    for map, offset, length in unpack_directory(fetched):
        assert offset % ALIGNMENT == 0 and offset >= end
        selection, end = fetched[offset : offset + length], offset + length
        found[map] = [bytes(find_part(selection, part) or b"") for part in parts]
    assert end == len(fetched)
    return found


def unpack_stretch(folders: Folders, order: FetchOrder, parts: Sequence[int]) -> dict[int, Parts]:
    """What a prefetched segment that shares its file holds."""
    assert order.stretch is not None
    fetched = map_stretch(folders, order.stretch)
    found = {}
    for map, offset, length in unpack_directory(fetched):
        selection = fetched[offset : offset + length]
        found[map] = [bytes(find_part(selection, part) or b"") for part in parts]
    return found


def segments(folders: Folders) -> list[str]:
    return sorted(os.listdir(folders.memory) + os.listdir(folders.disk))
