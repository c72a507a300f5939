"""Recoveries as tasks really do them, and checkpoints that keep them within a bound, compared with
plain recursion and with a search over all sets."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrite.plan.checkpoints import Cost, choose, total
from pyrite.plan.recoveries import MOST_STEPS, LineageGraph, choose_within, ends_within


def lineage(parents: dict[str, str], maps: dict[str, int] | None = None, **delays: int):
    """RDDs by one letter each, that take a second and ten bytes; capital ones are not kept."""
    maps = maps or {}
    costs = {
        step: Cost(float(delays.get(step, 1)), None if step in maps or step.isupper() else 10)
        for step in parents
    }
    kept = {step for step in parents if step.islower() and step not in maps}
    near = {step: tuple(found) for step, found in parents.items()}
    return LineageGraph(costs, near, kept, maps, executors=3)


def test_branches_that_one_task_computes_are_added_up() -> None:
    tree = lineage({"a": "", "b": "", "c": "", "d": "abc"})
    assert tree.recovery_s("d") == 4.0


def test_what_is_kept_is_computed_once() -> None:
    diamond = lineage({"a": "", "b": "a", "c": "a", "d": "bc"}, a=5)
    assert diamond.recovery_s("d") == 8.0


def test_what_is_not_kept_is_computed_as_often_as_it_is_read() -> None:
    diamond = lineage({"A": "", "b": "A", "c": "A", "d": "bc"}, A=5)
    assert diamond.recovery_s("d") == 13.0
    assert diamond.recovery_s("A") == 5.0


@pytest.mark.parametrize(("lost", "expected_s"), [(1, 7.0), (2, 12.0)])
def test_map_stages_run_side_by_side_where_there_are_executors(
    lost: int, expected_s: float
) -> None:
    """Each stage has a kept parent of its own; three executors are left."""
    shuffled = lineage({"a": "", "b": "", "m": "a", "n": "b", "c": "mn"}, {"m": lost, "n": lost})
    assert shuffled.recovery_s("c") == 3.0 if lost == 1 else 5.0
    shuffled = lineage(
        {"a": "", "b": "", "m": "a", "n": "b", "c": "mn"}, {"m": lost, "n": lost}, a=5, b=4
    )
    assert shuffled.recovery_s("c") == expected_s


def test_map_stages_that_need_each_other_run_in_turn() -> None:
    shuffled = lineage({"a": "", "m": "a", "b": "m", "n": "b", "c": "n"}, {"m": 1, "n": 1})
    assert shuffled.recovery_s("c") == 5.0


def test_a_sum_above_the_bound_is_cut_although_no_path_is() -> None:
    costs = {"a": Cost(4, 9), "b": Cost(4, 5), "c": Cost(4, 7), "d": Cost(4, 20), "e": Cost(1, 90)}
    tree = LineageGraph(costs, {"d": ["a", "b", "c"], "e": ["d"]}, set(costs), {})
    assert choose(costs, tree.parents, 10) == []
    assert tree.late(10) == ["d", "e"] and tree.longest_s() == 17
    assert choose_within(tree, 10) == ["b", "c"]
    # What is nearer to the end is of use for longer.
    assert choose_within(tree, 10, relax=3.0) == ["d"]


def test_paths_that_are_enough_are_cut_as_before() -> None:
    costs = {"a": Cost(6, 9), "b": Cost(3, 1), "c": Cost(6, 5)}
    chain = LineageGraph(costs, {"b": ["a"], "c": ["b"]}, set(costs), {})
    assert choose_within(chain, 10) == choose(costs, chain.parents, 10) == ["b"]


def test_what_checkpoints_can_not_help_is_let_be() -> None:
    tree = lineage({"a": "", "M": "a"}, M=11)
    assert tree.late(10) == [] and choose_within(tree, 10) == []
    tree = lineage({"a": "", "M": "a"}, a=4, M=8)
    assert tree.late(10) == ["M"] and choose_within(tree, 10) == ["a"]


def test_the_baseline_writes_the_ends_of_what_is_too_long() -> None:
    tree = lineage({"a": "", "b": "a", "c": "a", "d": "bc", "e": "a"}, a=7)
    assert ends_within(tree, 10) == []
    assert ends_within(tree, 9) == ["d", "e"]
    # What a written RDD was made of is no end.
    assert ends_within(tree, 9, used=["e"]) == ["d"]


# Random lineages


@st.composite
def lineages(draw: st.DrawFn) -> LineageGraph[int]:
    count = draw(st.integers(1, 8))
    costs, parents, kept, maps = {}, {}, set(), {}
    for step in range(count):
        kind = draw(st.sampled_from(["kept", "kept", "kept", "refused", "unkept", "maps"]))
        size = draw(st.integers(0, 9)) if kind == "kept" else None
        costs[step] = Cost(float(draw(st.integers(0, 6))), size)
        parents[step] = sorted(draw(st.sets(st.integers(0, step - 1), max_size=3))) if step else []
        if kind in ("kept", "refused"):
            kept.add(step)
        elif kind == "maps":
            maps[step] = draw(st.integers(0, 3))
    return LineageGraph(costs, parents, kept, maps, draw(st.integers(1, 4)))


def recomputed_s(graph: LineageGraph[int], step: int, written: set[int]) -> float:
    """Runs the tasks of a recovery one by one."""
    stages: dict[int, float] = {}
    ends: dict[int, float] = {}

    def stage(last: int) -> float:
        if last not in stages:
            there: set[int] = set()
            reads: list[int] = []
            stages[last] = compute(last, there, reads)
            ends[last] = stages[last] + max(map(stage, reads), default=0.0)
        return ends[last]

    def compute(each: int, there: set[int], reads: list[int]) -> float:
        taken = graph.costs[each].delay_s
        for parent in graph.parents[each]:
            if parent in graph.maps:
                reads.append(parent)
            elif parent not in there and parent not in written:
                if parent in graph.kept:
                    there.add(parent)
                taken += compute(parent, there, reads)
        return taken

    end = stage(step)
    lost = sum(graph.maps[each] for each in stages if each != step)
    return sum(stages.values()) if lost > graph.executors else end


def able(graph: LineageGraph[int]) -> list[int]:
    return [step for step, cost in graph.costs.items() if cost.bytes is not None]


def late(graph: LineageGraph[int], bound: int, written: set[int]) -> list[int]:
    """What is too late, and would not be if all that can be written was."""
    return [
        step
        for step in graph.costs
        if step not in written
        and recomputed_s(graph, step, written) > bound
        and (step in able(graph) or recomputed_s(graph, step, set(able(graph))) <= bound)
    ]


def holding(graph: LineageGraph[int], bound: int) -> Iterator[tuple[int, ...]]:
    """All sets that leave nothing late."""
    for count in range(len(able(graph)) + 1):
        for found in combinations(able(graph), count):
            if not late(graph, bound, set(found)):
                yield found


@given(lineages(), st.integers(0, 20))
@settings(max_examples=400)
def test_recoveries_take_as_long_as_their_tasks(graph: LineageGraph[int], bound: int) -> None:
    for step in graph.costs:
        assert graph.recovery_s(step) == recomputed_s(graph, step, set())
    assert graph.late(bound) == late(graph, bound, set())
    written = set(able(graph)[::2])
    assert graph.without(written).late(bound) == late(graph, bound, written)


@given(lineages(), st.integers(0, 20), st.sampled_from([1.0, 3.0]))
@settings(max_examples=400)
def test_all_recoveries_are_within_the_bound_once_writes_have_ended(
    graph: LineageGraph[int], bound: int, relax: float
) -> None:
    found = choose_within(graph, bound, relax)
    assert set(found) <= set(able(graph))
    assert late(graph, bound, set(found)) == []
    cheapest = min(total(graph.costs, set(each)) for each in holding(graph, bound))
    assert total(graph.costs, set(found)) >= cheapest


@given(lineages(), st.integers(0, 20))
def test_the_baseline_keeps_to_the_bound_too(graph: LineageGraph[int], bound: int) -> None:
    found = ends_within(graph, bound)
    assert not [step for step in late(graph, bound, set(found)) if step in able(graph)]


@pytest.mark.parametrize("relax", [1.0, 3.0])
def test_recoveries_of_many_rdds_are_within_the_bound_too(relax: float) -> None:
    """A chain of shuffles, in which each RDD reads an older one as well."""
    rdds = range(0, 200, 2)
    costs = {step: Cost(1.0, None if step % 2 else 10 + step) for step in range(199)}
    near = {step: (step - 1, step - 8) if step >= 8 else () for step in rdds}
    near.update({step: (step - 1,) for step in range(1, 199, 2)})
    graph = LineageGraph(costs, near, set(rdds), dict.fromkeys(range(1, 199, 2), 2), executors=3)
    assert len(costs) > MOST_STEPS and graph.is_late(8.0)
    chosen = choose_within(graph, 8.0, relax)
    assert not graph.without(chosen).is_late(8.0)
    assert all(graph.without(set(chosen) - {each}).is_late(8.0) for each in chosen)
