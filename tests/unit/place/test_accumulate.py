"""Stages that read several shuffles: placed together, and moved only where something is gained."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from pyrite.ids import NodeId
from pyrite.place.accumulate import Gathered, accumulate, together
from pyrite.place.reducers import MOST_DEGRADATION, Reducer, ReducerNode, place, weigh

A, B, C, D = (NodeId(name) for name in "abcd")
NODES = [A, B, C, D]

HELD = st.dictionaries(st.sampled_from(NODES), st.integers(0, 1000))


def known(held: dict[NodeId, int]) -> Reducer:
    """A reducer of which it is known where every byte lies."""
    return Reducer(sum(held.values()), held)


def hosts(*nodes: NodeId) -> list[ReducerNode]:
    return [ReducerNode(node) for node in nodes]


SHUFFLE = st.lists(HELD.map(known), min_size=12, max_size=12)
CLUSTER = st.integers(1, 4).flatmap(
    lambda count: st.tuples(
        *(st.builds(ReducerNode, st.just(n), st.integers(1, 4)) for n in NODES[:count])
    )
)
GATHERED = st.lists(
    st.builds(Gathered, st.sampled_from(NODES), st.integers(0, 1000)), min_size=12, max_size=12
)


def test_what_is_gathered_stays_where_it_is() -> None:
    gathered = [Gathered(B, 100), Gathered(A, 100)]
    assert accumulate(hosts(A, B), [known({A: 5, B: 5})] * 2, gathered) == [B, A]


def test_what_is_placed_elsewhere_now_moves() -> None:
    gathered = [Gathered(A, 10), Gathered(A, 10), Gathered(B, 0)]
    new = [known({B: 100}), known({A: 100}), known({A: 1})]
    assert accumulate(hosts(A, B), new, gathered) == [B, A, A]


def test_what_the_new_shuffle_has_on_the_same_node_counts_with_what_was_gathered() -> None:
    assert accumulate(hosts(A, B), [known({A: 30, B: 50})], [Gathered(A, 40)]) == [A]


def test_what_lies_on_a_node_that_runs_nothing_any_more_moves() -> None:
    cluster = [ReducerNode(A), ReducerNode(B, 0)]
    gathered = [Gathered(B, 9), Gathered(A, 3)]
    assert accumulate(cluster, [known({A: 5}), known({A: 1})], gathered) == [A, A]


def test_shuffles_known_at_once_are_one() -> None:
    first, second = [known({A: 1, B: 2}), Reducer(7)], [known({B: 3, C: 4}), known({A: 1})]
    both = [together(parts) for parts in zip(first, second, strict=True)]
    assert both == [known({A: 1, B: 5, C: 4}), Reducer(8, {A: 1})]


def test_no_reducers() -> None:
    assert accumulate(hosts(A), [], []) == []


@given(CLUSTER, SHUFFLE, st.integers(0, 4))
def test_a_shuffle_like_the_one_before_moves_nothing(
    cluster: Sequence[ReducerNode], first: list[Reducer], times: int
) -> None:
    """The sizes grow by the same part, and input is spread evenly: moves only make loads even."""
    gathered = [
        Gathered(node, each.size_bytes)
        for node, each in zip(place(cluster, first), first, strict=True)
    ]
    more = [Reducer(times * each.size_bytes) for each in first]
    found = accumulate(cluster, more, gathered)
    whole = [Reducer((1 + times) * each.size_bytes) for each in first]
    before = weigh(cluster, whole, [each.node for each in gathered])
    if before.heaviest_bytes <= weigh(cluster, whole, found).heaviest_bytes:
        assert found == [each.node for each in gathered]


@given(CLUSTER, SHUFFLE, GATHERED)
def test_loads_stay_balanced(
    cluster: Sequence[ReducerNode], reducers: list[Reducer], gathered: list[Gathered]
) -> None:
    whole = [
        Reducer(new.size_bytes + old.size_bytes)
        for new, old in zip(reducers, gathered, strict=True)
    ]
    dealt = weigh(cluster, whole, place(cluster, whole, swaps=False)).heaviest_bytes
    found = weigh(cluster, whole, accumulate(cluster, reducers, gathered)).heaviest_bytes
    assert found <= (1 + MOST_DEGRADATION) * dealt * (1 + 1e-12)


@given(CLUSTER, SHUFFLE, GATHERED)
def test_moves_are_made_for_a_gain_only(
    cluster: Sequence[ReducerNode], reducers: list[Reducer], gathered: list[Gathered]
) -> None:
    """The old places are given up for a lighter heaviest host, or for fewer bytes to send."""
    nodes = [host.node for host in cluster]
    gathered = [old._replace(node=nodes[NODES.index(old.node) % len(nodes)]) for old in gathered]
    places = accumulate(cluster, reducers, gathered)
    whole = [
        Reducer(
            new.size_bytes + old.size_bytes,
            {**new.held_bytes, old.node: new.held_bytes.get(old.node, 0) + old.size_bytes},
        )
        for new, old in zip(reducers, gathered, strict=True)
    ]
    before = [old.node for old in gathered]
    if places != before:
        old, new = weigh(cluster, whole, before), weigh(cluster, whole, places)
        assert new.heaviest_bytes < old.heaviest_bytes or new.network_bytes < old.network_bytes
