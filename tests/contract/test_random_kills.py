"""Random programs on nodes whose processes are killed at random moments; see also scripts/kills."""

from __future__ import annotations

import pytest
from killing import VICTIMS, kill_many, random_case

from pyrite import SparkContext

pytestmark = [pytest.mark.alone, pytest.mark.timeout(1200)]


@pytest.mark.parametrize(("master", "count"), [("local-cluster", 12), ("ray", 8)])
def test_every_answer_is_right(no_context: None, master: str, count: int) -> None:
    _, killed = kill_many(master, count, first_seed=1)
    assert killed.total() >= count


@pytest.mark.long
@pytest.mark.parametrize("master", ["local-cluster", "ray"])
def test_every_answer_is_right_many_times(no_context: None, master: str) -> None:
    _, killed = kill_many(master, 40, first_seed=1000)
    assert set(killed) == set(VICTIMS)
    assert SparkContext._active_spark_context is None


def test_programs_are_the_same_for_the_same_seed() -> None:
    assert random_case(5) == random_case(5) != random_case(6)
