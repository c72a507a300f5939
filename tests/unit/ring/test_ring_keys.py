"""Keys, fingers, views and claims."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.ring.claims import Claims, highest
from pyrite.ring.fingers import Fingers
from pyrite.ring.keys import BITS, SPACE, key_of, spans
from pyrite.ring.views import NO_WISH, RingMember, RingView

POSITIONS = st.lists(st.integers(0, SPACE - 1), min_size=1, max_size=40, unique=True)
KEYS = st.integers(0, SPACE - 1)


def view_of(positions: list[int]) -> RingView:
    members = [RingMember(f"m{place}", 1, "", place) for place in sorted(positions)]
    return RingView(1, tuple(members))


def test_keys_have_64_bits() -> None:
    assert BITS == 64
    keys = {key_of(f"/path/{number}") for number in range(1000)}
    assert len(keys) == 1000 and max(keys) < SPACE
    assert key_of("/odd/\udcff") != key_of("/odd/")


@given(KEYS, KEYS, KEYS)
def test_spans_hold_the_keys_after_start_up_to_end(start: int, end: int, key: int) -> None:
    inside = any(low <= key < high for low, high in spans(start, end))
    if start == end:
        assert inside
    else:
        assert inside == (0 < (key - start) % SPACE <= (end - start) % SPACE)


@given(POSITIONS, KEYS)
def test_all_fingers_name_the_owner_at_once(positions: list[int], key: int) -> None:
    owner = view_of(positions).owner(key).position
    for own in positions:
        assert Fingers(own, positions).next(key) == owner


@given(POSITIONS, KEYS, st.integers(0, 2**32))
def test_a_few_fingers_lead_to_the_owner(positions: list[int], key: int, seed: int) -> None:
    size = len(positions).bit_length() + 1
    owner = view_of(positions).owner(key).position
    at = Random(seed).choice(positions)
    for _ in range(len(positions) + 1):
        after = Fingers(at, positions, size).next(key)
        if after == at:
            break
        at = after
    assert at == owner


def test_few_fingers_take_few_hops() -> None:
    dice = Random(1)
    positions = [dice.randrange(SPACE) for _ in range(1000)]
    fingers = {own: Fingers(own, positions, 12) for own in positions}
    hops = []
    for _ in range(500):
        at, key, count = dice.choice(positions), dice.randrange(SPACE), 0
        while (after := fingers[at].next(key)) != at:
            at, count = after, count + 1
        hops.append(count)
    assert max(hops) <= 24


@pytest.mark.parametrize(("size", "members"), [(1, 1), (2, 3), (3, 7), (4, 20)])
def test_too_few_fingers_are_refused(size: int, members: int) -> None:
    positions = list(range(members))
    with pytest.raises(ValueError, match="fingers are too few"):
        Fingers(0, positions, size)
    Fingers(0, positions, size + 2)


@given(POSITIONS, KEYS)
def test_copies_are_the_owner_and_its_neighbours(positions: list[int], key: int) -> None:
    view = view_of(positions)
    copies = view.copies(key)
    assert copies[0] == view.owner(key)
    assert len(copies) == len(set(copies)) == min(3, len(positions))
    start, end = view.range_of(copies[0].id)
    assert any(low <= key < high for low, high in spans(start, end))
    assert {each.id for each in copies[1:]} == {each.id for each in view.neighbours(copies[0].id)}


def test_a_newcomer_halves_the_range_with_the_most_bytes() -> None:
    view = view_of([100, 1000, 5000])
    newcomer = RingMember("new", 1, "", NO_WISH)
    after = view.changed((), [newcomer], {"m100": 1, "m1000": 900, "m5000": 50})
    assert after.number == 2
    assert after.by_id["new"].position == 550
    assert after.range_of("new") == (100, 550)
    assert after.range_of("m1000") == (550, 1000)


def test_who_comes_back_keeps_its_position() -> None:
    view = view_of([100, 1000]).changed(["m100"], (), {})
    back = view.changed((), [RingMember("m100", 2, "", 100)], {})
    assert back.by_id["m100"].position == 100
    assert back.by_id["m100"].incarnation == 2


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(0, 5)), max_size=12),
    st.integers(0, 20),
)
def test_claims_are_the_last_that_were_made(pieces: list[tuple[int, int, int]], key: int) -> None:
    claims, last = Claims(), 0
    for low, high, view in pieces:
        if low < high:
            claims.set(low, high, view)
            last = view if low <= key < high else last
    assert claims.at(key) == last
    assert Claims(claims.pieces()).pieces() == claims.pieces()
    covered = claims.within(0, 21)
    assert covered[0][0] == 0 and covered[-1][1] == 21
    assert all(before[1] == after[0] for before, after in pairwise(covered))


def test_the_highest_claim_counts() -> None:
    top = highest([[(0, 10, 3)], [(5, 20, 4)], [(8, 9, 1)]])
    assert [top.at(key) for key in (0, 4, 5, 8, 19, 20)] == [3, 3, 4, 4, 4, 0]
