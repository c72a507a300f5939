"""Placement policy: tasks of a collection run where its partitions are kept together (Stark).

A collection partition is partition i of all RDDs of a namespace. The executors that hold it are
those with kept rows of any of them, or on a node with their blocks; this set grows where a task had
to run elsewhere and kept what it computed there, and shrinks with eviction, unpersist and death.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heapreplace
from typing import TYPE_CHECKING

from pyrite.ids import ExecutorId, NamespaceId, Partition, RddId
from pyrite.place.grouptree import GroupTree, Resized
from pyrite.place.policy import HoldersView, Preference, Strength, View

if TYPE_CHECKING:
    from pyrite.plan.stages import StageSpec


@dataclass(slots=True, eq=False)
class RddCollection:
    """The RDDs of one namespace, and where their partitions belong."""

    id: NamespaceId
    name: str
    tree: GroupTree
    # Whether its groups split and merge.
    extendable: bool
    # The persisted RDDs, in the order in which they joined.
    members: dict[RddId, None] = field(default_factory=dict)
    # Where a partition that nobody holds starts.
    homes: dict[int, ExecutorId] = field(default_factory=dict)
    # Executors that a split took from a partition: what they keep of it is still read there, but
    # further RDDs go elsewhere.
    ceded: dict[int, dict[ExecutorId, None]] = field(default_factory=dict)

    @property
    def partitions(self) -> int:
        return self.tree.root.span.end

    def groups(self, partitions: Iterable[int]) -> dict[int, tuple[int, ...]]:
        """Returns the group of each of these partitions, without partitions that are not asked
        for."""
        wanted = dict.fromkeys(sorted(partitions))
        found: dict[int, tuple[int, ...]] = {}
        for index in wanted:
            if index not in found:
                first, end = self.tree.group_of(index)
                group = tuple(each for each in range(first, end) if each in wanted)
                found.update(dict.fromkeys(group, group))
        return found

    def start(self, index: int, executor: ExecutorId) -> None:
        """Has a partition that nobody holds start at an executor."""
        self.homes[index] = executor
        self._take_back(index, executor)

    def forget_executor(self, executor: ExecutorId) -> None:
        self.homes = {index: home for index, home in self.homes.items() if home != executor}
        for index in list(self.ceded):
            self._take_back(index, executor)

    def _take_back(self, index: int, executor: ExecutorId) -> None:
        ceded = self.ceded.get(index)
        if ceded is not None:
            ceded.pop(executor, None)
            if not ceded:
                del self.ceded[index]


def holders(collection: RddCollection, partition: int, view: HoldersView) -> dict[ExecutorId, int]:
    """Returns the executors of a collection partition, with the number of RDDs that they hold."""
    found: dict[ExecutorId, int] = {}
    for rdd in collection.members:
        for executor in executors_with(Partition(rdd, partition), view):
            found[executor] = found.get(executor, 0) + 1
    for executor in collection.ceded.get(partition, ()):
        found.pop(executor, None)
    return found


def executors_with(partition: Partition, view: HoldersView) -> Iterator[ExecutorId]:
    """Returns the executors that read a kept partition without the network."""
    live = view.holders(partition)
    yield from live
    for node in view.block_nodes(partition):
        for executor in view.executors_on(node):
            if executor not in live:
                yield executor


def divide_executors(
    collection: RddCollection, change: Resized, sizes: Sequence[int], view: HoldersView
) -> tuple[tuple[ExecutorId, ...], ...]:
    """Divides the executors of a group that split, and unites those of groups that merged; returns
    those of each group that there is now.

    One executor alone keeps the heavier half; the other half starts elsewhere.
    """
    spans = [index for span in change.before for index in range(*span)]
    if len(change.after) == 1:
        for index in spans:
            collection.ceded.pop(index, None)
    found = sorted({each for index in spans for each in holders(collection, index, view)})
    if len(change.after) == 1:
        return (tuple(found),)
    halves = sorted(change.after, key=lambda span: -sum(sizes[span.first : span.end]))
    for number, executor in enumerate(found):
        # By turns, the heavier half first.
        for index in range(*halves[1 - number % 2]):
            collection.ceded.setdefault(index, {})[executor] = None
    for index in spans:
        collection.homes.pop(index, None)
    return tuple(tuple(found[halves.index(span) :: 2]) for span in change.after)


class Colocate:
    """Prefers, for all partitions of a group alike, the executors with the kept rows that its task
    reads, or with the blocks; else those that hold the collection partitions; and waits for them.

    What nobody holds starts at the least contended executor, or at any that is idle. Kept rows
    can't be fetched: a group whose rows are at several executors runs as several tasks.
    """

    def __init__(self, wait_s: float) -> None:
        self.wait_s = wait_s

    def prefer(self, stage: StageSpec, partitions: Sequence[int], view: View) -> Preference | None:
        collection = view.collection(stage.namespace)
        if collection is None or stage.barrier:
            return None
        executors: dict[int, Sequence[ExecutorId]] = {}
        groups: dict[int, tuple[int, ...]] = {}
        empty: list[tuple[int, ...]] = []
        for whole in dict.fromkeys(collection.groups(partitions).values()):
            for group in self._by_kept_rows(stage, whole, view):
                groups.update(dict.fromkeys(group, group))
                best = (
                    self._with_rows(stage, group, view)
                    or self._near_blocks(stage, group, view)
                    or self._holding(collection, group, view)
                )
                if best:
                    executors.update(dict.fromkeys(group, best))
                else:
                    empty.append(group)
        homes = start_at(collection, empty, view) if empty else {}
        return Preference(Strength.WAIT, executors, {}, self.wait_s, homes=homes, groups=groups)

    def _by_kept_rows(
        self, stage: StageSpec, group: tuple[int, ...], view: View
    ) -> list[tuple[int, ...]]:
        """Divides a group by the executors that hold the rows that it reads; partitions without any
        go with the most."""
        if len(group) == 1 or stage.shape.rdds.isdisjoint(view.live_rdds()):
            return [group]
        counts = {index: rows_held(stage, index, view) for index in group}
        totals: dict[ExecutorId, int] = {}
        for held in counts.values():
            for executor, count in held.items():
                totals[executor] = totals.get(executor, 0) + count
        if not totals:
            return [group]
        main = max(totals, key=lambda each: (totals[each], -each))
        parts: dict[ExecutorId, list[int]] = {}
        for index, held in counts.items():
            best = most(held)
            chosen = main if main in best or not best else max(best, key=totals.__getitem__)
            parts.setdefault(chosen, []).append(index)
        return [tuple(part) for part in parts.values()]

    def _with_rows(
        self, stage: StageSpec, group: Sequence[int], view: View
    ) -> Sequence[ExecutorId] | None:
        """The executors that hold the most live rows for the group's task."""
        if stage.shape.rdds.isdisjoint(view.live_rdds()):
            return None
        return most(added(rows_held(stage, index, view) for index in group))

    def _near_blocks(
        self, stage: StageSpec, group: Sequence[int], view: View
    ) -> Sequence[ExecutorId] | None:
        """The executors on the nodes that hold the most of the blocks that the group's task
        reads."""
        kept = view.block_rdds()
        if stage.shape.rdds.isdisjoint(kept):
            return None
        found: dict[ExecutorId, int] = {}
        for index in group:
            for partition in stage.shape.kept_partitions(index, kept, view.has_blocks):
                for executor in executors_with(partition, view):
                    found[executor] = found.get(executor, 0) + 1
        return most(found)

    def _holding(
        self, collection: RddCollection, group: Sequence[int], view: View
    ) -> Sequence[ExecutorId] | None:
        return most(added(holders(collection, index, view) for index in group))


def rows_held(stage: StageSpec, index: int, view: View) -> dict[ExecutorId, int]:
    """Returns the executors with live rows that the task for `index` reads, and of how many
    RDDs."""
    found: dict[ExecutorId, int] = {}
    for partition in stage.shape.kept_partitions(index, view.live_rdds(), view.is_live):
        for executor in view.holders(partition):
            found[executor] = found.get(executor, 0) + 1
    return found


def added(counts: Iterable[Mapping[ExecutorId, int]]) -> dict[ExecutorId, int]:
    total: dict[ExecutorId, int] = {}
    for each in counts:
        for executor, count in each.items():
            total[executor] = total.get(executor, 0) + count
    return total


def most(counts: Mapping[ExecutorId, int]) -> list[ExecutorId]:
    best = max(counts.values(), default=0)
    return [executor for executor, count in counts.items() if count == best]


def start_at(
    collection: RddCollection, groups: Sequence[Sequence[int]], view: View
) -> dict[int, ExecutorId]:
    """Chooses the executors at which groups start that nobody holds: those with the fewest
    collection partitions, counting each group as it is given away."""
    homes = collection.homes
    started: dict[int, ExecutorId] = {}
    new = []
    for group in groups:
        known = next((homes[index] for index in group if index in homes), None)
        if known is None:
            new.append(group)
        else:
            started.update(dict.fromkeys(group, known))
    contention = view.contention() if new else ()
    heap = [(count, place) for place, (_, count) in enumerate(contention)]
    heapify(heap)
    for group in new if heap else ():
        count, place = heap[0]
        heapreplace(heap, (count + len(group), place))
        started.update(dict.fromkeys(group, contention[place][0]))
    return started
