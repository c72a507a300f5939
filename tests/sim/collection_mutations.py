"""Deliberate bugs in collections: their groups, their copies, and the bound on recovery."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mutating import mutation

from pyrite.blocks.ledger import Ledger
from pyrite.place.grouptree import GroupTree, Resized, Span
from pyrite.rdd.partitioners import StaticRanges
from pyrite.schedule.collections import Collections
from pyrite.schedule.commands import DropRows
from pyrite.schedule.grouping import Grouping
from pyrite.schedule.kept import Kept
from pyrite.schedule.recoverybound import RecoveryBound
from pyrite.schedule.replicas import Replicas

_split = GroupTree._split
_copied = Ledger.copied
_drop = Replicas._drop
_forget_rdd = Kept.forget_rdd
_on_ended = RecoveryBound.on_ended
_on_persisted = Collections.on_persisted


@mutation(StaticRanges, "__eq__", within=1000)
def ranges_are_equal_where_there_are_as_many(self: StaticRanges, other: object) -> bool:
    return type(other) is StaticRanges and len(self.bounds) == len(other.bounds)


@mutation(GroupTree, "_split")
def a_split_loses_a_partition(
    self: GroupTree, sums: Sequence[int], most_bytes: int
) -> Iterator[Resized]:
    for change in _split(self, sums, most_bytes):
        left, right = change.after
        yield change._replace(after=(left, Span(right.first + 1, right.end)))


@mutation(Replicas, "_drop")
def the_last_copy_is_dropped_as_a_replica(self: Any, copy: Any, idle_s: float) -> None:
    partition, place = copy
    if isinstance(place, str):
        _drop(self, copy, idle_s)
        return
    for executor in list(self.kept.executors(partition)):
        self.kept.drop_live(partition, executor)
        self.turn.add(DropRows(executor, partition))


@mutation(Kept, "forget_rdd")
def replicas_of_a_forgotten_rdd_keep_their_blocks(self: Any, rdd: Any) -> Any:
    for partition, node in [each for each in self.replicas() if each[0].rdd == rdd]:
        self.drop_replica(partition, node)
    return _forget_rdd(self, rdd)


@mutation(Ledger, "copied", within=1000)
def blocks_of_a_replica_are_not_counted(self: Any, move: Any, blocks: Any) -> Any:
    return _copied(self, move, [])


@mutation(Grouping, "_collection_group")
def a_group_takes_partitions_of_another(self: Any, run: Any, tasks: Any, first: Any) -> Any:
    others = [task for task in list(tasks.pending) if isinstance(task, int)]
    return (first, *map(tasks.queue.take_partition, others), first)


@mutation(RecoveryBound, "on_ended", within=1000)
def a_failed_checkpoint_counts_as_written(self: Any, event: Any) -> None:
    _on_ended(self, event._replace(is_written=True))


@mutation(RecoveryBound, "check_recoveries")
def long_recoveries_are_let_be(self: Any) -> None:
    return None


@mutation(Collections, "forget_executor")
def a_partition_starts_at_an_executor_that_is_lost(self: Any, executor: Any) -> None:
    self._contention.forget_executor(executor)


@mutation(Collections, "on_persisted")
def an_rdd_is_counted_in_no_collection(self: Any, event: Any) -> None:
    _on_persisted(self, event)
    collection = self.get(event.namespace)
    if collection is not None:
        del self._of_rdd[event.rdd]
