"""The running median agrees with sorting everything."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pyrite.schedule.median import Median


@given(st.lists(st.floats(allow_nan=False), min_size=1))
def test_it_is_the_middle_one_or_the_upper_one_of_two(numbers: list[float]) -> None:
    median = Median()
    for count, number in enumerate(numbers, start=1):
        median.add(number)
        assert median.value == sorted(numbers[:count])[count // 2]
