"""Map outputs, selections of them and parcels hold what was put in, and nothing is guessed."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.blocks.codec import CorruptBlock
from pyrite.blocks.parcel import (
    ALIGNMENT,
    Entry,
    directory_bytes,
    pack_directory,
    unpack_directory,
)
from pyrite.blocks.parts import find_part, pack_header, select, selection_header_bytes

PARTS = st.lists(st.binary(max_size=40), min_size=1, max_size=30)


def output_of(parts: list[bytes]) -> bytes:
    return pack_header([len(part) for part in parts]) + b"".join(parts)


def selection_of(output: bytes, wanted: list[int]) -> bytes:
    head, stretches = select(lambda start, n: output[start : start + n], len(output), wanted)
    assert len(head) == selection_header_bytes(len(wanted))
    return head + b"".join(output[start : start + size] for start, size in stretches)


@given(PARTS, st.data())
def test_parts_are_found_in_outputs_and_in_selections(
    parts: list[bytes], data: st.DataObject
) -> None:
    output = output_of(parts)
    numbers = st.sets(st.integers(0, len(parts) - 1), min_size=1)
    wanted = sorted(data.draw(numbers))
    selection = selection_of(output, wanted)
    for part in wanted:
        for block in output, selection:
            assert (find_part(memoryview(block), part) or b"") == parts[part]
    for part in {*range(len(parts) + 2)} - {*wanted}:
        with pytest.raises(CorruptBlock, match="has no part"):
            find_part(memoryview(selection), part)


@given(PARTS, st.data())
def test_what_is_cut_or_changed_in_its_header_is_corrupt(
    parts: list[bytes], data: st.DataObject
) -> None:
    output = output_of(parts)
    whole = selection_of(output, list(range(len(parts))))
    for block, header in (output, 8 * (len(parts) + 2)), (whole, 16 * (len(parts) + 1)):
        with pytest.raises(CorruptBlock):
            find_part(memoryview(block)[: data.draw(st.integers(0, header - 1))], 0)
        if len(block) > header:
            cut = memoryview(block)[:-1]
            last = max(place for place, part in enumerate(parts) if part)
            with pytest.raises(CorruptBlock, match="end behind"):
                find_part(cut, last)
        spoilt = bytearray(block)
        spoilt[data.draw(st.integers(header - 8 * (len(parts) + 1), header - 1))] ^= 1
        with pytest.raises(CorruptBlock):
            for part in range(len(parts)):
                find_part(memoryview(spoilt), part)


@pytest.mark.parametrize("count", [0, 2, 1 << 20, 1 << 63, (1 << 63) + 3, (1 << 64) - 1])
def test_a_wrong_count_is_corrupt(count: int) -> None:
    spoilt = struct.pack("<Q", count) + output_of([b"abc"])[8:]
    with pytest.raises(CorruptBlock):
        find_part(memoryview(spoilt), 0)
    with pytest.raises(CorruptBlock):
        selection_of(spoilt, [0])


def test_parts_that_are_not_there_can_not_be_selected() -> None:
    output = output_of([b"abc", b""])
    for wanted in [2], [0, 5], []:
        with pytest.raises(CorruptBlock, match="no part"):
            selection_of(output, wanted)


def test_a_parcels_directory() -> None:
    entries = [Entry(7, 128, 40), Entry(3, 192, 1 << 40)]
    packed = pack_directory(entries)
    assert len(packed) <= directory_bytes(2) and directory_bytes(2) % ALIGNMENT == 0
    assert unpack_directory(memoryview(packed + bytes(100))) == entries
    assert unpack_directory(memoryview(pack_directory([]))) == []
    for spoilt in packed[:10], packed[:-1], packed[:20] + b"x" + packed[21:], b"\xff" * 64:
        with pytest.raises(CorruptBlock):
            unpack_directory(memoryview(spoilt))
