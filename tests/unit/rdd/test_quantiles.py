"""The sample of keys that cuts an RDD into ranges."""

import pytest

from pyrite.place.predict import Sample
from pyrite.rdd.functions import KEY
from pyrite.rdd.quantiles import SEED, DrawnKeys, choose_keys, deal_samples, draw_keys
from pyrite.rdd.sampling import Sampler


def rows(count: int, start: int = 0) -> list[tuple[int, None]]:
    return [(key, None) for key in range(start, start + count)]


@pytest.mark.parametrize("count", [0, 1, 7, 1024, 1025, 20_000])
def test_one_pass_chooses_what_counting_and_sampling_would(count: int) -> None:
    wanted = 60.0
    parts = [rows(count), rows(3 * count, count)]
    drawn = [draw_keys(wanted, 1.0, KEY, index, iter(part)) for index, part in enumerate(parts)]
    sampler = Sampler(False, min(wanted / max(4 * count, 1), 1.0), SEED)
    sampled = [key for index, part in enumerate(parts) for key, _ in sampler(index, iter(part))]
    assert choose_keys(drawn, wanted) == sampled
    assert [part.rows for part in drawn] == [count, 3 * count]


def test_few_keys_of_many_rows_are_kept() -> None:
    assert len(draw_keys(60.0, 1.0, KEY, 0, iter(rows(100_000))).keys) < 5000


def test_a_known_fraction_keeps_no_more_than_the_sample() -> None:
    known = draw_keys(60.0, 60.0 / 100_000, KEY, 0, iter(rows(100_000)))
    assert [key for _, key in known.keys] == choose_keys([known], 60.0)


def test_an_empty_sample_of_some_rows_falls_back_to_any_key() -> None:
    assert choose_keys([DrawnKeys(1000, [(0.9, "key")])], 1.0) == ["key"]
    assert choose_keys([DrawnKeys(0, [])], 1.0) == []


def test_rows_that_came_first_are_no_more_likely_in_a_sample() -> None:
    # More keys of the first rows are drawn, as long as it is not known how many follow.
    drawn = draw_keys(200.0, 1.0, KEY, 0, iter(rows(50_000)))
    assert sum(key < 25_000 for _, key in drawn.keys) > 0.7 * len(drawn.keys)
    samples = deal_samples([drawn], 200.0, [25_000], True)
    assert samples is not None
    ((weight, count, parts),) = samples
    assert (weight, sum(dict(parts).values())) == (50_000, count)
    assert dict(parts)[0] / count == pytest.approx(0.5, abs=0.1)


def test_samples_have_more_keys_than_the_ranges_are_cut_by() -> None:
    parts = [draw_keys(60.0, 1.0, KEY, index, iter(rows(2000))) for index in range(20)]
    samples = deal_samples(parts, 60.0, [700, 1400], True)
    assert samples is not None
    assert len(choose_keys(parts, 60.0)) < 90
    assert 200 < sum(each.drawn for each in samples) < 400


def test_keys_fall_to_ranges_in_either_order() -> None:
    parts = [DrawnKeys(3, [(0.1, 1), (0.2, 9), (0.3, 5)]), DrawnKeys(0, [])]
    assert deal_samples(parts, 60.0, [5, 7], True) == (
        Sample(3, 3, ((0, 2), (2, 1))),
        Sample(0, 0, ()),
    )
    assert deal_samples(parts, 60.0, [5, 7], False) == (
        Sample(3, 3, ((0, 1), (2, 2))),
        Sample(0, 0, ()),
    )
