"""Checkpoints: the cheapest RDDs that cut all recoveries above the bound, compared with a search
over all sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from pyrite.plan.checkpoints import Cost, choose, edge, is_cut, longest_path_s, measure

Graph = tuple[dict[int, Cost], dict[int, list[int]]]


def after(costs: Mapping[int, Cost], parents: Mapping[int, Sequence[int]], cut: Sequence[int]):
    """The graph when the cut is written: its RDDs take no time, and end paths."""
    written = {rdd: Cost(0.0, 0) if rdd in cut else cost for rdd, cost in costs.items()}
    return written, {rdd: [] if rdd in cut else each for rdd, each in parents.items()}


def paths(parents: Mapping[int, Sequence[int]], ends: Sequence[int]) -> Iterator[list[int]]:
    pending = [[end] for end in ends]
    while pending:
        path = pending.pop()
        if not parents.get(path[-1]):
            yield path
        pending += [[*path, parent] for parent in parents.get(path[-1], ())]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    count = draw(st.integers(1, 8))
    costs, parents = {}, {}
    for rdd in range(count):
        size = draw(st.none() | st.integers(0, 9)) if rdd < count - 1 else draw(st.integers(0, 9))
        costs[rdd] = Cost(float(draw(st.integers(0, 6))), size)
        parents[rdd] = sorted(draw(st.sets(st.integers(0, rdd - 1), max_size=3))) if rdd else []
    return costs, parents


@given(graphs(), st.integers(1, 14))
@settings(max_examples=400)
def test_the_cut_is_the_cheapest_and_the_nearest_to_the_end(graph: Graph, bound: int) -> None:
    costs, parents = graph
    before, behind = measure(costs, parents)
    violating = [r for r in costs if before[r] + behind[r] - costs[r].delay_s > bound]
    able = [rdd for rdd in violating if is_cut(costs[rdd], behind[rdd], bound)]
    inside = {rdd: [each for each in parents[rdd] if each in violating] for rdd in violating}
    used = {each for found in inside.values() for each in found}
    every = list(paths(inside, [rdd for rdd in violating if rdd not in used]))
    if not all(set(path) & set(able) for path in every):
        return
    sets = chain.from_iterable(combinations(able, size) for size in range(len(able) + 1))
    cuts = [each for each in sets if all(set(path) & set(each) for path in every)]
    cheapest = min(sum(costs[rdd].bytes or 0 for rdd in each) for each in cuts)
    found = choose(costs, parents, bound)
    assert set(found) in [set(each) for each in cuts]
    assert sum(costs[rdd].bytes or 0 for rdd in found) == cheapest
    # No equal cut has all of its RDDs at the same place or nearer to the end.
    for path in every:
        mine = min(path.index(rdd) for rdd in found if rdd in path)
        for other in cuts:
            if sum(costs[rdd].bytes or 0 for rdd in other) == cheapest:
                assert mine <= max(path.index(rdd) for rdd in other if rdd in path)


@given(graphs(), st.integers(1, 14), st.sampled_from([1.5, 3.0, 10.0]))
def test_a_relaxed_cut_costs_at_most_so_many_times_the_exact_one(
    graph: Graph, bound: int, relax: float
) -> None:
    costs, parents = graph
    exact, relaxed = choose(costs, parents, bound), choose(costs, parents, bound, relax)
    price = sum(costs[rdd].bytes or 0 for rdd in exact)
    assert sum(costs[rdd].bytes or 0 for rdd in relaxed) <= relax * price
    assert bool(exact) == bool(relaxed)


@given(graphs(), st.integers(1, 14), st.sampled_from([1.0, 3.0]))
def test_cuts_again_and_again_leave_no_long_path(graph: Graph, bound: int, relax: float) -> None:
    """As the driver does, an RDD after another; all are kept, as none takes longer than the
    bound."""
    costs, parents = graph
    kept = {rdd: Cost(cost.delay_s, cost.bytes or 0) for rdd, cost in costs.items()}
    seen: dict[int, Cost] = {}
    written: list[int] = []
    for rdd, cost in kept.items():
        seen[rdd] = cost
        for _ in range(len(kept)):
            left = after(seen, parents, written)
            if longest_path_s(*left) <= bound:
                break
            new = choose(*left, bound, relax)
            assert new and not set(new) & set(written)
            written += new
        assert longest_path_s(*after(seen, parents, written)) <= bound


def test_figure_10() -> None:
    """Three paths to i of 16, 16 and 15, and r of 10 (the numbers are read off the figure's
    text)."""
    costs = {
        "a": Cost(4, 8),
        "b": Cost(3, 8),
        "c": Cost(4, 3),
        "d": Cost(4, 3),
        "e": Cost(4, 3),
        "f": Cost(4, 2),
        "g": Cost(4, 9),
        "i": Cost(4, 9),
    }
    parents = {
        "c": ["a"],
        "d": ["a"],
        "e": ["b"],
        "f": ["c", "d"],
        "g": ["e"],
        "i": ["f", "g"],
    }
    assert longest_path_s(costs, parents) == 16
    assert choose(costs, parents, 10) == ["e", "f"]
    assert edge(costs, parents, 10) == ["i"]


def test_flow_that_went_another_way_is_followed_back() -> None:
    """The first saturated edges from the end are not a minimum cut here."""
    costs = {
        "s": Cost(5, None),
        "x": Cost(1, 4),
        "y": Cost(1, 4),
        "p": Cost(1, 4),
        "q": Cost(1, 3),
        "t": Cost(1, None),
    }
    parents = {"x": ["s"], "y": ["s"], "p": ["x"], "q": ["x", "y"], "t": ["p", "q"]}
    assert choose(costs, parents, 6) == ["p", "q"]


def test_the_edge_baseline_writes_all_ends() -> None:
    costs = {number: Cost(4.0, 5) for number in range(5)}
    parents = {1: [0], 2: [1], 3: [2], 4: [0]}
    assert edge(costs, parents, 100) == []
    assert edge(costs, parents, 10) == [3, 4]
    assert edge({**costs, 3: Cost(4.0, None)}, parents, 10) == [2, 4]
    assert choose(costs, parents, 10) == [3]


def test_nothing_to_cut() -> None:
    assert choose({}, {}, 10) == []
    assert choose({"a": Cost(20, None)}, {}, 10) == []
    assert choose({"a": Cost(5, 3), "b": Cost(5, 3)}, {"b": ["a"]}, 10) == []
    # What can't be cut keeps nothing else from being cut.
    costs = {"a": Cost(11, None), "b": Cost(6, 3), "c": Cost(6, 4)}
    assert choose(costs, {"c": ["b"]}, 10) == ["b"]


def test_an_end_that_cannot_be_written_leaves_the_others_to_be_cut() -> None:
    costs = {0: Cost(6.0, 368), 1: Cost(12.0, 408), 2: Cost(12.0, None)}
    parents = {1: [0], 2: [1]}
    assert choose(costs, parents, bound_s=5.0) == [1]
    # Then 0 alone is kept and not written.
    assert choose({0: costs[0], 2: costs[2]}, {}, bound_s=5.0) == [0]
    assert choose({2: costs[2]}, {}, bound_s=5.0) == []
