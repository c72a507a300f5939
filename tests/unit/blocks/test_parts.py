"""Map outputs, selections of them and prefetched segments hold what was put in, and nothing is
guessed."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.blocks import parts as parts_module
from pyrite.blocks.codec import CorruptBlock
from pyrite.blocks.fetched import (
    ALIGNMENT,
    SelectionEntry,
    directory_bytes,
    pack_directory,
    unpack_directory,
)
from pyrite.blocks.parts import (
    find_part,
    pack_header,
    sealed,
    select,
    selection_header_bytes,
    unsealed,
)

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


@given(PARTS, st.data())
def test_a_selection_of_a_selection_is_one_of_the_output(
    parts: list[bytes], data: st.DataObject
) -> None:
    output = output_of(parts)
    numbers = sorted(data.draw(st.sets(st.integers(0, len(parts) - 1), min_size=1)))
    copy = selection_of(output, numbers)
    wanted = sorted(data.draw(st.sets(st.sampled_from(numbers), min_size=1)))
    assert selection_of(copy, wanted) == selection_of(output, wanted)


def test_a_part_between_those_of_a_selection_can_not_be_selected() -> None:
    output = output_of([b"abc"] * 100)
    for kept in [0, 5], range(0, 80, 5):
        copy = selection_of(output, list(kept))
        for wanted in [0, 3, 5], [3], [0, 81], [81], [0, 3]:
            with pytest.raises(CorruptBlock, match="no part"):
                selection_of(copy, wanted)
    # Where few are wanted of many, they are searched for.
    copy = selection_of(output, list(range(0, 100, 2)))
    with pytest.raises(CorruptBlock, match="no part"):
        selection_of(copy, [33])


@pytest.mark.parametrize("count", [3, 40])
def test_spoilt_offsets_are_no_matter_to_who_does_not_want_them(count: int) -> None:
    parts = [b"x%d" % number for number in range(count)]
    output = output_of(parts)
    for place in range(count + 1):
        spoilt = bytearray(output)
        spoilt[8 * (place + 1)] ^= 1
        others = [part for part in range(count) if part not in (place - 1, place)]
        for wanted in others, others[:1], others[-1:]:
            assert selection_of(bytes(spoilt), wanted) == selection_of(output, wanted)
        for wanted in [min(place, count - 1)], list(range(count)), sorted({0, max(0, place - 1)}):
            if place in wanted or place - 1 in wanted:
                with pytest.raises(CorruptBlock, match="has changed"):
                    selection_of(bytes(spoilt), wanted)


def test_offsets_that_fall_are_corrupt() -> None:
    output = bytearray(output_of([b"abc", b"defgh", b"i"]))
    output[8:40] = b"".join(sealed(*each).to_bytes(8, "little") for each in enumerate([0, 8, 3, 9]))
    for wanted in [1], [0, 1, 2], [1, 2]:
        with pytest.raises(CorruptBlock, match="end behind"):
            selection_of(bytes(output), wanted)


def test_parts_that_touch_are_read_at_once() -> None:
    output = output_of([b"abc", b"", b"de", b"", b"f", b""])
    start = output.index(b"abc")

    def spans_of(wanted: list[int]) -> list[tuple[int, int]]:
        return select(lambda at, n: output[at : at + n], len(output), wanted)[1]

    assert spans_of([0, 1, 2]) == [(start, 5)]
    assert spans_of([0, 2, 3]) == [(start, 5)]
    assert spans_of([0, 4, 5]) == [(start, 3), (start + 5, 1)]
    assert spans_of([1]) == spans_of([1, 3]) == []


def test_one_part_of_a_copy_is_found_without_looking_at_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    count = 2000
    copy = selection_of(output_of([b"x"] * count), list(range(count)))
    looked = []
    monkeypatch.setattr(parts_module, "unsealed", lambda *a: looked.append(a) or unsealed(*a))
    monkeypatch.setattr(parts_module, "_bare", lambda e: looked.append(e) or e & ((1 << 40) - 1))
    monkeypatch.setattr(parts_module, "_bare_all", looked.extend)
    assert find_part(memoryview(selection_of(copy, [1234])), 1234) == b"x"
    assert 0 < len(looked) < 30


def test_which_parts_an_order_wants_is_packed_once_for_all_its_outputs() -> None:
    wanted = list(range(0, 60, 2))
    parts_module._remembered_numbers.cache_clear()
    for number in range(5):
        selection_of(output_of([b"%d" % number] * 60), wanted)
    assert parts_module._remembered_numbers.cache_info()[:2] == (4, 1)


def test_a_prefetched_segments_directory() -> None:
    entries = [SelectionEntry(7, 128, 40), SelectionEntry(3, 192, 1 << 40)]
    packed = pack_directory(entries)
    assert len(packed) <= directory_bytes(2) and directory_bytes(2) % ALIGNMENT == 0
    assert unpack_directory(memoryview(packed + bytes(100))) == entries
    assert unpack_directory(memoryview(pack_directory([]))) == []
    for spoilt in packed[:10], packed[:-1], packed[:20] + b"x" + packed[21:], b"\xff" * 64:
        with pytest.raises(CorruptBlock):
            unpack_directory(memoryview(spoilt))
