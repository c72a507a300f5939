"""Every deliberate bug is found within the seeds that it says, so the checkers do bite."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future

import pytest
from exploring import Summary, make_pool, run_seeds
from kept_cases import KEPT
from mutations import MUTATIONS

# Those that need more seeds than there is time for here are found by a case that was kept.
MOST_SEEDS = 1000
SEARCHED = [name for name, each in MUTATIONS.items() if 0 < each.within <= MOST_SEEDS]


@pytest.fixture(scope="module")
def searches() -> Iterator[dict[str, Future[Summary]]]:
    with make_pool(os.cpu_count() or 1) as pool:
        # The longest searches first, so that no core is left with one at the end.
        longest_first = sorted(SEARCHED, key=lambda name: -MUTATIONS[name].within)
        yield {
            name: pool.submit(run_seeds, tuple(range(MUTATIONS[name].within)), name)
            for name in longest_first
        }


@pytest.mark.alone
@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", SEARCHED)
def test_a_bug_is_found(name: str, searches: dict[str, Future[Summary]]) -> None:
    total = searches[name].result()
    assert total.failed, f"{total.seeds} seeds are right although {name}"


def test_what_is_not_searched_for_has_a_kept_case() -> None:
    assert MUTATIONS.keys() - set(SEARCHED) <= {kept.mutation for kept in KEPT}
