"""Collections: the RDDs of each namespace, their groups, and who holds their partitions (Stark)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pyrite.ids import ExecutorId, NamespaceId, NodeId, Partition, RddId
from pyrite.place.collectionreport import CollectionReport, GroupReport
from pyrite.place.colocate import RddCollection, divide_executors, executors_with, holders
from pyrite.place.grouptree import GroupTree
from pyrite.plan.stages import StageSpec
from pyrite.probe import probe
from pyrite.schedule import events as ev
from pyrite.schedule.commands import GroupsResized, PartitionsStarted, TellCollections
from pyrite.schedule.contention import Contention
from pyrite.schedule.fleet import Fleet
from pyrite.schedule.rules import Rules
from pyrite.schedule.storage import Storage
from pyrite.schedule.turn import Turn


class Collections:
    """Knows the namespaces, sizes their groups, and counts the collection partitions of each
    executor."""

    def __init__(self, turn: Turn, rules: Rules, fleet: Fleet, storage: Storage) -> None:
        self.turn = turn
        self.rules = rules
        self.fleet = fleet
        self.storage = storage
        self.kept = storage.kept
        self._collections: dict[NamespaceId, RddCollection] = {}
        self._of_rdd: dict[RddId, NamespaceId] = {}
        # The state of the kept partitions when each collection was last sized.
        self._sized: dict[NamespaceId, int] = {}
        self._contention = Contention(fleet, self.kept, self._of_rdd)

    def __iter__(self) -> Iterator[RddCollection]:
        return iter(self._collections.values())

    def __bool__(self) -> bool:
        return bool(self._collections)

    def get(self, namespace: NamespaceId | None) -> RddCollection | None:
        return None if namespace is None else self._collections.get(namespace)

    def of_rdd(self, rdd: RddId) -> RddCollection | None:
        return self.get(self._of_rdd.get(rdd))

    # Namespaces and their RDDs

    def on_made(self, event: ev.NamespaceMade) -> None:
        tree = GroupTree(event.partitions, event.groups)
        self._collections[event.namespace] = RddCollection(
            event.namespace, event.name, tree, event.extendable
        )

    def on_dropped(self, event: ev.NamespaceDropped) -> None:
        collection = self._collections.pop(event.namespace, None)
        if collection is not None:
            for rdd in collection.members:
                del self._of_rdd[rdd]
                self.kept.touch(rdd)
            self._sized.pop(event.namespace, None)

    def on_persisted(self, event: ev.RddPersisted) -> None:
        self.storage.on_persisted(event)
        collection = self.get(event.namespace)
        if collection is not None:
            collection.members[event.rdd] = None
            self._of_rdd[event.rdd] = collection.id
            self.kept.touch(event.rdd)

    def on_forgotten(self, event: ev.RddForgotten) -> None:
        self.storage.on_forgotten(event)
        collection = self.of_rdd(event.rdd)
        if collection is not None:
            del collection.members[event.rdd], self._of_rdd[event.rdd]

    def forget_executor(self, executor: ExecutorId) -> None:
        self._contention.forget_executor(executor)
        for collection in self:
            collection.forget_executor(executor)

    # Tasks

    def start(self, stage: StageSpec, homes: Mapping[int, ExecutorId]) -> None:
        """Records where partitions start that nobody holds."""
        collection = self.get(stage.namespace)
        if collection is not None:
            self._start(collection, homes)

    def launched(self, stage: StageSpec, partitions: Iterable[int], executor: ExecutorId) -> None:
        """Records where partitions that nobody holds start in fact."""
        collection = self.get(stage.namespace)
        if collection is not None:
            found = [
                index
                for index in partitions
                if index in collection.homes
                and not self._reads_ceded(collection, stage, index, executor)
            ]
            self._start(collection, dict.fromkeys(found, executor))

    def _reads_ceded(
        self, collection: RddCollection, stage: StageSpec, index: int, executor: ExecutorId
    ) -> bool:
        """Whether a task runs where it does for old rows only, of a partition that a split took
        from the executor: nothing starts there."""
        if executor not in collection.ceded.get(index, ()):
            return False
        kept = self.kept.ids()
        looked_up = stage.shape.kept_partitions(index, kept, self.kept.is_there)
        return any(executor in executors_with(each, self) for each in looked_up)

    def _start(self, collection: RddCollection, homes: Mapping[int, ExecutorId]) -> None:
        starts: dict[ExecutorId, list[int]] = {}
        for index, executor in homes.items():
            if collection.homes.get(index) != executor:
                starts.setdefault(executor, []).append(index)
        counts = dict(self.contention()) if starts else {}
        for executor, partitions in starts.items():
            for index in partitions:
                collection.start(index, executor)
            count = counts.get(executor, 0)
            told = PartitionsStarted(collection.name, tuple(partitions), executor, count)
            self.turn.add(told)

    # Contention

    def contention(self) -> list[tuple[ExecutorId, int]]:
        """Returns all executors in the order of their slots, with the number of collection
        partitions that they hold or that start there."""
        counts = self._contention.counts()
        for collection in self:
            for home in collection.homes.values():
                counts[home] = counts.get(home, 0) + 1
        return [(each, counts.get(each, 0)) for each in self.fleet.slots if each is not None]

    def count(self, executor: ExecutorId) -> int:
        """Returns the number of unique collection partitions that an executor holds."""
        return self._contention.count(executor)

    def counts(self) -> dict[ExecutorId, int]:
        """Returns the number of unique collection partitions that each executor holds."""
        return self._contention.counts()

    def settle(self) -> None:
        """Counts what has changed, so that it does not grow while nobody asks."""
        self._contention.settle()

    # Sizes

    def on_reported(self, event: ev.RddReported) -> None:
        collection = self.of_rdd(event.rdd)
        if collection is not None:
            self._resize(collection)

    def materialised(self, stage: StageSpec) -> None:
        """Sizes the groups again after a stage of the collection has kept or lost partitions."""
        collection = self.get(stage.namespace)
        if collection is not None and self._sized.get(collection.id) != self.kept.changes:
            self._sized[collection.id] = self.kept.changes
            self._settle_homes(collection)
            if self.rules.collections.report:
                self._resize(collection)

    def _resize(self, collection: RddCollection) -> None:
        if not collection.extendable:
            return
        rules = self.rules.collections
        sizes = self.sizes(collection)
        changes = collection.tree.resize(sizes, rules.most_group_bytes, rules.least_group_bytes)
        for change in changes:
            probe("a group splits" if len(change.after) == 2 else "groups merge")
            executors = divide_executors(collection, change, sizes, self)
            self.turn.add(
                GroupsResized(
                    collection.name,
                    collection.tree.version,
                    tuple(tuple(each) for each in change.before),
                    tuple(tuple(each) for each in change.after),
                    change.bytes,
                    executors,
                )
            )

    def _settle_homes(self, collection: RddCollection) -> None:
        """Forgets where partitions start that somebody holds now."""
        for index in list(collection.homes):
            if holders(collection, index, self):
                del collection.homes[index]

    def sizes(self, collection: RddCollection) -> list[int]:
        """Returns the bytes of each collection partition, over the last kept RDDs."""
        kept = [rdd for rdd in collection.members if self.kept.count(rdd)]
        last = self.rules.collections.last_rdds
        sizes = [0] * collection.partitions
        for rdd in kept[-last:] if last else kept:
            for index, size in self.kept.sizes_by_index(rdd).items():
                sizes[index] += size
        return sizes

    # Reports

    def on_asked(self, event: ev.CollectionsAsked) -> None:
        self.turn.add(TellCollections(event.question, tuple(map(self._report, self))))

    def _report(self, collection: RddCollection) -> CollectionReport:
        sizes = self.sizes(collection)
        groups = []
        for first, end in collection.tree.groups():
            found = dict.fromkeys(
                each for index in range(first, end) for each in holders(collection, index, self)
            )
            size = sum(sizes[first:end])
            groups.append(GroupReport(first, end - 1, size, tuple(sorted(found))))
        return CollectionReport(
            collection.id,
            collection.name,
            tuple(collection.members),
            collection.tree.version,
            tuple(groups),
            collection.tree.text(sizes),
        )

    # What policies see of kept partitions

    def holders(self, partition: Partition) -> Sequence[ExecutorId]:
        return self.kept.executors(partition)

    def block_nodes(self, partition: Partition) -> Sequence[NodeId]:
        return self.kept.block_nodes(partition)

    def executors_on(self, node: NodeId) -> Sequence[ExecutorId]:
        return [each.id for each in self.fleet.on(node)]
