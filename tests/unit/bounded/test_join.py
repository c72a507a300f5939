"""Joins give every pair of values with the same key, whether their table fits in memory or not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tight_space import ample_space, tight_space

from pyrite.bounded.join import (
    Join,
    full_outer_join,
    join,
    left_outer_join,
    right_outer_join,
    subtract_by_key,
)

Rows = list[tuple[Any, Any]]
sides = st.lists(st.tuples(st.integers(0, 8), st.integers()), max_size=60)


def plain_join(left: Rows, right: Rows) -> Rows:
    return [(k, (v, w)) for k, v in left for other, w in right if other == k]


def plain_left(left: Rows, right: Rows) -> Rows:
    keys = {k for k, _ in right}
    return plain_join(left, right) + [(k, (v, None)) for k, v in left if k not in keys]


def plain_right(left: Rows, right: Rows) -> Rows:
    return [(k, (v, w)) for k, (w, v) in plain_left(right, left)]


def plain_full(left: Rows, right: Rows) -> Rows:
    keys = {k for k, _ in left}
    return plain_left(left, right) + [(k, (None, w)) for k, w in right if k not in keys]


def plain_subtract(left: Rows, right: Rows) -> Rows:
    keys = {k for k, _ in right}
    return [(k, v) for k, v in left if k not in keys]


PLAIN: dict[Join, Callable[[Rows, Rows], Rows]] = {
    join: plain_join,
    left_outer_join: plain_left,
    right_outer_join: plain_right,
    full_outer_join: plain_full,
    subtract_by_key: plain_subtract,
}


@pytest.mark.parametrize("kind", PLAIN, ids=lambda kind: kind.__name__)
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(left=sides, right=sides, seed=st.integers(0, 99))
def test_all_pairs_and_no_others(
    tmp_path: Path, kind: Join, left: Rows, right: Rows, seed: int
) -> None:
    expected = sorted(PLAIN[kind](left, right), key=repr)
    for space in (ample_space(tmp_path), tight_space(tmp_path, seed)):
        found = list(kind([left[:20], left[20:]], [right[:30], right[30:]], space))
        assert sorted(found, key=repr) == expected
        space.close()


def test_a_table_larger_than_memory_goes_to_disk(tmp_path: Path) -> None:
    space = tight_space(tmp_path, chance=1.0)
    rows = [(key, key) for key in range(500)]
    assert sorted(join([rows], [rows], space)) == [(key, (key, key)) for key in range(500)]
    assert space.spilled_bytes > 0
    space.close()
