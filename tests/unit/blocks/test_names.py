"""The names of segments' files show who wrote them, and tell writers apart."""

from __future__ import annotations

from pyrite.blocks.names import name_prefix, segment_name
from pyrite.ids import DRIVER, ExecutorId

WRITERS = [DRIVER, *map(ExecutorId, range(120))]


def test_a_name_shows_its_writer() -> None:
    assert segment_name(ExecutorId(3), 17) == "e3-17"
    assert segment_name(DRIVER, 4) == "driver-4"


def test_a_prefix_finds_the_segments_of_one_writer_only() -> None:
    names = {segment_name(writer, number): writer for writer in WRITERS for number in (1, 10)}
    assert len(names) == 2 * len(WRITERS)
    for writer in WRITERS:
        found = {names[name] for name in names if name.startswith(name_prefix(writer))}
        assert found == {writer}
