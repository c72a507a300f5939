"""What machines cost: by the moment and by periods, while prices change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.rent.billing import StageHire, bill, price_at, price_changes, spent, spent_by_period
from pyrite.rent.completion import Hire, Instance

FLAT = Instance("flat", 1, 1, ((0.0, 3.6),))
RISING = Instance("rising", 1, 1, ((0.0, 3.6), (100.0, 7.2)))


def test_prices_change_at_their_moment() -> None:
    assert [price_at(RISING, at_s) for at_s in (-5.0, 0.0, 99.0, 100.0, 1e9)] == [
        3.6, 3.6, 3.6, 7.2, 7.2,
    ]  # fmt: skip
    assert spent(RISING, 50.0, 150.0) == pytest.approx(0.05 + 0.1)
    assert price_changes([FLAT, RISING], 0.0) == [0.0, 100.0]
    assert price_changes([FLAT, RISING], 100.0) == [100.0]


def test_a_machine_stays_while_the_next_stage_has_one_like_it() -> None:
    turns = [
        StageHire(Hire(FLAT, 2), 30.0),
        StageHire(Hire(FLAT, 3), 30.0),
        StageHire(Hire(FLAT, 1), 30.0),
    ]
    assert bill(turns) == pytest.approx((60 + 90 + 30) * 0.001)
    # One for 90 s, one for 60 s, one for 30 s: each minute that was begun.
    assert bill(turns, period_s=60.0) == pytest.approx((120 + 60 + 60) * 0.001)


def test_starting_is_paid_once_for_each_machine_that_comes() -> None:
    late = Instance("late", 1, 1, ((0.0, 3.6),), startup_s=40.0)
    turns = [StageHire(Hire(late, count), 10.0) for count in (1, 2, 1, 2)]
    assert bill(turns) == pytest.approx((60 + 3 * 40) * 0.001)


def test_a_lender_is_not_an_executor() -> None:
    turns = [StageHire(Hire(FLAT, 1, FLAT, 1), 10.0), StageHire(Hire(FLAT, 2), 10.0)]
    assert bill(turns, period_s=60.0) == pytest.approx(3 * 60 * 0.001)


@given(
    st.lists(st.floats(1, 2000), max_size=4, unique=True).map(sorted),
    st.floats(-100, 1000),
    st.floats(0, 5000),
    st.sampled_from([1.0, 60.0, 3600.0]),
)
def test_each_period_has_the_price_of_its_beginning(
    changes: list[float], from_s: float, seconds: float, period_s: float
) -> None:
    prices = ((0.0, 1.0), *((at_s, 2.0 + place) for place, at_s in enumerate(changes)))
    instance = Instance("any", 1, 1, prices)
    starts = [from_s]
    while starts[-1] + period_s < from_s + seconds - 1e-6:
        starts.append(from_s + len(starts) * period_s)
    expected = sum(price_at(instance, at_s) for at_s in starts) * period_s / 3600
    assert spent_by_period(instance, from_s, from_s + seconds, period_s) == pytest.approx(expected)
