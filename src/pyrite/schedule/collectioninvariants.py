"""Invariants of collections, their replicas, and the bound on recovery."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyrite.ids import ExecutorId, NamespaceId, NodeId, Partition
from pyrite.place.colocate import executors_with
from pyrite.schedule.replicas import Copy

if TYPE_CHECKING:
    from pyrite.schedule.scheduler import Scheduler


def check_collections(state: Scheduler) -> None:
    """Each collection lists live RDDs once, its groups cover each partition once, and what starts
    somewhere starts at an executor that is there."""
    known = state.collections._collections
    listed = {rdd: each.id for each in known.values() for rdd in each.members}
    assert listed == state.collections._of_rdd, "RDDs and their collections differ"
    assert listed.keys() <= state.storage._persisted
    assert state.collections._sized.keys() <= known.keys()
    for collection in known.values():
        collection.tree.check()
        homes = set(collection.homes.values())
        ceded = {each for found in collection.ceded.values() for each in found}
        assert homes | ceded <= state.fleet._executors.keys(), "a collection starts nowhere"
        assert all(collection.ceded.values())
    for run in state.stages._runs.values():
        for index, group in run.groups.items():
            assert index in group and all(run.groups[each] == group for each in group)


def check_contention(state: Scheduler) -> None:
    """The collection partitions of each executor are those that a scan of all that is kept
    finds."""
    kept, contention = state.storage.kept, state.collections._contention
    assert not contention._touched, "copies have come or gone, and nobody counted"
    held: dict[ExecutorId, set[tuple[NamespaceId, int]]] = {}
    for rdd, namespace in state.collections._of_rdd.items():
        for index in {*kept._live.get(rdd, ()), *kept._blocks.get(rdd, ())}:
            for executor in executors_with(Partition(rdd, index), state.collections):
                held.setdefault(executor, set()).add((namespace, index))
    for executor, count in contention.counts().items():
        assert count == len(held.get(executor, ())), f"executor {executor} holds {count}?"
    assert contention._sizes.keys() <= state.fleet._executors.keys()
    assert contention._live.keys() <= state.fleet._executors.keys()
    counted = {each.rdd for each in contention._counted}
    assert counted <= state.collections._of_rdd.keys(), "partitions of no collection are counted"


def check_replicas(state: Scheduler) -> None:
    """All copies of partitions that have several are watched, and no others."""
    kept, replicas = state.storage.kept, state.replicas
    for partition, by_node in kept._replicas.items():
        refs = kept.blocks(partition)
        assert refs and by_node, f"{partition} has replicas but no blocks"
        for node, copy in by_node.items():
            assert all(ref.node == node for ref in copy), f"a copy of {partition} is in two places"
            # The original may be there too, if it was moved: the replica goes when it is idle.
    near: dict[NodeId, dict[Partition, None]] = {}
    for partition, node in kept.replicas():
        near.setdefault(node, {})[partition] = None
    assert near == kept._replicas_on, "replicas differ between collections"
    assert not replicas._touched, "copies have come or gone, and nobody looked"
    # As a scan of all that is kept finds them.
    copies: set[Copy] = {
        (Partition(rdd, index), executor)
        for rdd in state.collections._of_rdd
        for index, executors in kept.live_of(rdd)
        if len(executors) > 1
        for executor in executors
    }
    copies |= {(each, node) for each in kept._replicas for node in kept.block_nodes(each)}
    assert replicas._used_s.keys() == copies, "other copies are watched than there are"
    watched = {(each, place) for each, places in replicas._places.items() for place in places}
    assert watched == copies and all(replicas._places.values())
    rated = {
        (partition, place)
        for partition, place in copies
        if not isinstance(place, str) and place != kept.executors(partition)[0]
    }
    assert replicas._rated.keys() == rated, "executors were told wrongly which rows are replicas"
    assert replicas._is_timed or not replicas._used_s, "nobody looks for idle replicas"


def check_bound(state: Scheduler) -> None:
    """Recoveries are known of what is kept, or what that is computed from."""
    bound = state.bound
    for rdd in (*bound._written, *bound._writing, *bound._refused):
        is_needed = rdd in bound._parents or rdd in state.storage._persisted
        assert is_needed, f"a checkpoint of RDD {rdd}, which nobody needs"
    assert not bound._written.keys() & bound._writing.keys()
    assert state.rules.recovery_bound_s or not (bound._parents or bound._delays_s)
