"""Ranges that follow the keys of tasks."""

from __future__ import annotations

from random import Random
from statistics import pstdev

import pytest

from pyrite.place.laf import KEYS, Laf

SERVERS = list(range(40))


def peaks(dice: Random) -> int:
    """A key near one of two places."""
    return int(dice.gauss(dice.choice((0.3, 0.7)), 0.05) % 1.0 * KEYS)


def loads(laf: Laf[int], keys: list[int]) -> list[int]:
    """Tasks of each server, if each goes to the owner that has had least."""
    counts = [0] * len(laf.servers)
    for key in keys:
        laf.saw(key)
        counts[min(laf.owners(key), key=lambda server: counts[server])] += 1
    return counts


def test_ranges_cover_all_keys_from_the_start() -> None:
    laf = Laf(SERVERS)
    ranges = laf.ranges()
    assert ranges[0][0] == 0 and ranges[-1][1] == KEYS == 1 << 64
    assert all(ranges[index][1] == ranges[index + 1][0] for index in range(39))
    assert {high - low for low, high in ranges} <= {KEYS // 40, KEYS // 40 + 1}
    assert laf.owners(0) == [0] and laf.owners(KEYS - 1) == [39]


@pytest.mark.parametrize("alpha", [0.001, 0.01, 0.1, 1.0])
def test_ranges_get_equal_shares_of_two_peaks(alpha: float) -> None:
    dice = Random(1)
    keys = [peaks(dice) for _ in range(6410)]
    counts = loads(Laf(SERVERS, alpha), keys)
    static = loads(Laf(SERVERS, 0.0), keys)
    assert pstdev(counts) < pstdev(static) / 3


def test_no_weight_is_static() -> None:
    dice = Random(2)
    laf = Laf(SERVERS, alpha=0.0)
    before = laf.ranges()
    loads(laf, [peaks(dice) for _ in range(1000)])
    assert laf.ranges() == before


def test_a_key_hotter_than_one_share_has_several_owners_up_to_all() -> None:
    laf = Laf(SERVERS)
    dice = Random(3)
    hot = KEYS // 3
    for _ in range(6400):
        laf.saw(hot if dice.random() < 0.25 else dice.randrange(KEYS))
    assert 9 <= len(laf.owners(hot)) <= 12
    assert len(set(laf.owners(hot))) == len(laf.owners(hot))
    assert len(laf.owners(KEYS // 2)) == 1
    only = Laf(SERVERS)
    for _ in range(64):
        only.saw(hot)
    assert sorted(only.owners(hot)) == SERVERS


def test_kernels_wrap_around_the_ring() -> None:
    laf = Laf(["a", "b"], window=1, bins=16, bandwidth=8)
    laf.saw(0)
    # Half of the weight lies at either end of the keys, and nothing between.
    assert laf.ranges() == [(0, KEYS * 3 // 4), (KEYS * 3 // 4, KEYS)]


def test_an_even_load_leaves_each_key_one_owner() -> None:
    laf = Laf(SERVERS, window=4096)
    for index in range(4096):
        laf.saw(index * (KEYS // 4096))
    assert all(len(laf.owners(index * (KEYS // 997))) == 1 for index in range(997))
    for (low, high), index in zip(laf.ranges(), range(40), strict=True):
        assert low == pytest.approx(KEYS * index / 40, rel=1e-6, abs=KEYS / 4096)
        assert high > low


def test_it_forgets_the_past_by_its_weight() -> None:
    quick, slow = Laf(SERVERS, alpha=1.0), Laf(SERVERS, alpha=0.001)
    dice = Random(4)
    for laf in (quick, slow):
        for _ in range(640):
            laf.saw(int(dice.uniform(0, 0.1) * KEYS))
        for _ in range(64):
            laf.saw(int(dice.uniform(0.9, 1.0) * KEYS))
    assert sum(low >= KEYS * 0.8 for low, _ in quick.ranges()) >= 38
    assert sum(low >= KEYS * 0.8 for low, _ in slow.ranges()) <= 8


@pytest.mark.parametrize("alpha", [-0.1, 1.1, float("nan")])
def test_a_weight_outside_of_0_to_1_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match="alpha"):
        Laf(SERVERS, alpha)
