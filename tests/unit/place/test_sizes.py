"""Part sizes in a byte each: how exact, how far, and how they add up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.place.sizes import LARGEST, LEVELS, STEP, add_up, decode, encode, most

# How far a decoded size may be off, as a part of the true one, up to LARGEST.
MAX_RELATIVE_ERROR = (STEP - 1) / 2

SIZES = st.lists(st.integers(0, LARGEST), max_size=50)


def test_empty_parts_and_small_ones_are_exact() -> None:
    assert decode(encode(range(21))) == list(range(21))


def test_a_byte_reaches_eighty_gigabytes() -> None:
    assert len(LEVELS) == 256
    assert LARGEST > 80 * 10**9
    assert decode(encode([10 * LARGEST])) == [LARGEST]


def test_levels_keep_their_codes() -> None:
    assert encode(LEVELS) == bytes(range(256))


@given(SIZES)
def test_the_error_is_bounded(sizes: list[int]) -> None:
    for size, told in zip(sizes, decode(encode(sizes)), strict=True):
        assert abs(told - size) <= MAX_RELATIVE_ERROR * size


@given(st.integers(20, LARGEST - 1))
def test_larger_is_never_told_as_smaller(size: int) -> None:
    low, high = encode([size, size + 1])
    assert low <= high <= low + 1


@given(st.integers(0, 9).flatmap(lambda n: st.lists(st.binary(min_size=n, max_size=n), max_size=9)))
def test_codes_add_up_part_by_part(codes: list[bytes]) -> None:
    parts = len(codes[0]) if codes else 4
    expected = [sum(LEVELS[code[part]] for code in codes) for part in range(parts)]
    assert add_up(codes, parts) == expected


def test_map_outputs_with_other_parts_are_refused() -> None:
    with pytest.raises(ValueError, match="2 parts each, not 3"):
        add_up([b"\1\2"], 3)
    with pytest.raises(ValueError, match="shorter"):
        add_up([b"\1\2", b"\1"], 2)


@given(SIZES.flatmap(lambda sizes: st.tuples(st.just(sizes), st.permutations(range(len(sizes))))))
def test_no_sum_of_parts_is_above_its_bound(drawn: tuple[list[int], list[int]]) -> None:
    sizes, order = drawn
    code = encode(sizes)
    for count in {0, 1, 2, len(sizes) // 2, len(sizes)}:
        parts = order[:count]
        bound = most(code, parts)
        assert sum(sizes[part] for part in parts) <= bound
        assert bound <= sum(LEVELS[code[part]] for part in parts) * (1 + MAX_RELATIVE_ERROR)


def test_the_bound_is_the_largest_size_of_a_code() -> None:
    assert most(encode(range(15)), range(15)) == sum(range(15))
    for size in (25, 1000, 10**6, LARGEST):
        bound = most(encode([size]), [0])
        assert encode([bound]) == encode([size])
        assert bound == LARGEST or encode([bound + 1]) != encode([size])
