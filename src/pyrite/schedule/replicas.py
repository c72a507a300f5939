"""Replicas of collection partitions: made where tasks had to run elsewhere, dropped when idle.

Stark, III-C3: a task that found no executor with its data leaves a replica where it ran. Live rows
were computed there again; blocks are copied by block servers.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from pyrite.blocks.ledger import Move
from pyrite.ids import BlockRef, ExecutorId, NodeId, Partition, partition_of
from pyrite.plan.stages import StageSpec
from pyrite.probe import probe
from pyrite.schedule.attempts import Attempt
from pyrite.schedule.collections import Collections
from pyrite.schedule.commands import (
    DropRows,
    MoveSegment,
    RateRows,
    ReplicaDropped,
    ReplicaMade,
    SetTimer,
)
from pyrite.schedule.fleet import Executor, Fleet
from pyrite.schedule.rules import Rules
from pyrite.schedule.storage import Storage
from pyrite.schedule.timer import ReplicaCheck
from pyrite.schedule.turn import Turn

# A copy: live rows at an executor, or blocks on a node.
Place = ExecutorId | NodeId
Copy = tuple[Partition, Place]


class Replicas:
    """Orders copies of blocks, and drops copies that nobody uses; never the last one."""

    def __init__(
        self, turn: Turn, rules: Rules, fleet: Fleet, storage: Storage, collections: Collections
    ) -> None:
        self.turn = turn
        self.rules = rules
        self.fleet = fleet
        self.storage = storage
        self.kept = storage.kept
        self.ledger = storage.ledger
        self.collections = collections
        # When each copy of a partition that has several was last read, or made.
        self._used_s: dict[Copy, float] = {}
        # The live rows that executors were told to be replicas.
        self._rated: dict[tuple[Partition, ExecutorId], None] = {}
        # The copies of each partition that has several.
        self._places: dict[Partition, tuple[Place, ...]] = {}
        self._touched = self.kept.watch()
        self._is_timed = False

    # Tasks

    def launched(self, stage: StageSpec, attempt: Attempt, executor: Executor) -> None:
        """Notes which copies a task of a collection reads; has blocks of other nodes copied to its
        own."""
        for partition, ref in attempt.blocks:
            if self.collections.of_rdd(partition.rdd) is None:
                continue
            if ref.node == executor.node:
                self._touch(partition, executor.node)
            elif ref.medium == "memory":
                self._copy(partition, ref, executor)
        for key in attempt.keys if self._rated else ():
            index = partition_of(key)
            live, is_live = self.kept.live_rdds(), self.kept.is_live
            for partition in stage.shape.kept_partitions(index, live, is_live):
                self._touch(partition, executor.id)

    def _touch(self, partition: Partition, place: Place) -> None:
        if (partition, place) in self._used_s:
            self._used_s[partition, place] = self.turn.now_s

    # Copies of blocks

    def _copy(self, partition: Partition, ref: BlockRef, executor: Executor) -> None:
        """Orders a copy of the segment that holds a partition, if all of it is in that one."""
        segment = self.ledger.segments.get(ref.segment)
        pool = self.ledger.pools.get(executor.node)
        if (
            segment is None
            or pool is None
            or not segment.sealed
            or segment.moving
            or len(self.kept.blocks(partition)) > 1
            or executor.node in self.kept.block_nodes(partition)
            or pool.unused_bytes < segment.bytes
        ):
            return
        probe("a partition of a collection is copied")
        move = self.ledger.copy(segment, executor.node)
        name, size = move.target.name, segment.bytes
        self.turn.add(
            MoveSegment(
                move.id, segment.place, segment.name, executor.node, name, size, segment.medium
            )
        )

    def on_copied(self, move: Move) -> None:
        """Records the copies of the partitions that are in the segment still."""
        source, target = move.source, move.target
        added: list[tuple[BlockRef, Partition]] = []
        for partition in list(self.kept.in_segment(source.name)):
            refs = self.kept.blocks(partition)
            is_member = self.collections.of_rdd(partition.rdd) is not None
            if len(refs) == 1 and refs[0].segment == source.name and is_member:
                copy = refs[0]._replace(node=target.place, segment=target.name)
                if self.kept.add_replica(partition, (copy,)):
                    added.append((copy, partition))
        self.storage.drop(self.ledger.copied(move, [(ref, each.rdd) for ref, each in added]))

    def on_not_copied(self, move: Move) -> None:
        probe("a partition of a collection can't be copied")
        self.storage.drop(self.ledger.fail(move))

    def watched(self) -> list[Copy]:
        """The copies of partitions that have several."""
        return list(self._used_s)

    # Room

    def make_room(self, node: NodeId, size: int) -> None:
        """Drops replicas in a pool until so many bytes are free: they go before anything else."""
        pool = self.ledger.pools.get(node)
        here = self.kept.replicas_on(node)
        here.sort(key=lambda partition: self._used_s.get((partition, node), 0.0))
        for partition in here:
            if pool is None or pool.unused_bytes >= size:
                return
            probe("a replica gives way")
            self._drop_blocks(partition, node)

    # What changed

    def settle(self) -> None:
        """Notes copies that came and went since the last turn."""
        if not self._touched:
            return
        self.collections.settle()
        if self.collections or self._places:
            for partition in self._touched:
                self._note(partition)
            self._set_timer()
        self._touched.clear()

    def _note(self, partition: Partition) -> None:
        before, now = self._places.get(partition, ()), self._several(partition)
        for place in before:
            if place not in now:
                del self._used_s[partition, place]
        if now:
            self._places[partition] = now
        elif before:
            del self._places[partition]
        for place in now:
            if place not in before:
                self._used_s[partition, place] = self.turn.now_s
                self._record(partition, place)
        self._rate(partition, before, now)

    def _several(self, partition: Partition) -> tuple[Place, ...]:
        """Returns the copies of a partition that has several: of live rows, if it is a member's,
        and of blocks."""
        executors: Sequence[ExecutorId] = self.kept.executors(partition)
        if len(executors) < 2 or self.collections.of_rdd(partition.rdd) is None:
            executors = ()
        nodes = self.kept.block_nodes(partition) if self.kept.has_replicas(partition) else ()
        return (*executors, *nodes)

    def _rate(
        self, partition: Partition, before: tuple[Place, ...], now: tuple[Place, ...]
    ) -> None:
        """Tells executors which of their live rows are replicas: all but the first."""
        holders = self.kept.executors(partition)
        for place in dict.fromkeys((*before, *now)):
            if isinstance(place, str):
                continue
            is_replica = place in now and place != holders[0]
            if is_replica and (partition, place) not in self._rated:
                self._rated[partition, place] = None
                self.turn.add(RateRows(place, partition, True))
            elif not is_replica and (partition, place) in self._rated:
                del self._rated[partition, place]
                if place in holders:
                    self.turn.add(RateRows(place, partition, False))

    def _record(self, partition: Partition, place: Place) -> None:
        """Tells the story of a new copy, if it is not the first one."""
        if isinstance(place, str):
            copies = len(self.kept.block_nodes(partition))
            is_first = not self.kept.is_replica(partition, NodeId(place))
            near = [each.id for each in self.fleet.on(NodeId(place))]
        else:
            holders = self.kept.executors(partition)
            copies, is_first, near = len(holders), holders[0] == place, [place]
        if not is_first:
            contention = max(map(self.collections.count, near), default=0)
            self.turn.add(ReplicaMade(partition, place, copies, contention))

    def _set_timer(self) -> None:
        if self._used_s and not self._is_timed:
            self._is_timed = True
            self.turn.add(SetTimer(ReplicaCheck(), min(map(self._ends_s, self._used_s))))

    def _ends_s(self, copy: Copy) -> float:
        """Returns when a copy will have been unused for long enough; never for an original."""
        partition, place = copy
        if isinstance(place, str) and not self.kept.is_replica(partition, NodeId(place)):
            return inf
        return self._used_s[copy] + self.rules.collections.replica_idle_s

    def look(self) -> None:
        """Drops the copies that nobody has used for a while, but one of each partition."""
        self._is_timed = False
        for copy in sorted(self._used_s, key=self._used_s.__getitem__):
            if self._ends_s(copy) <= self.turn.now_s:
                self._drop(copy, self.turn.now_s - self._used_s[copy])
        self.settle()
        self._set_timer()

    def _drop(self, copy: Copy, idle_s: float) -> None:
        partition, place = copy
        if isinstance(place, str):
            probe("an idle replica of blocks is dropped")
            self._drop_blocks(partition, NodeId(place), idle_s)
            return
        holders = self.kept.executors(partition)
        if len(holders) > 1 and place in holders:
            probe("an idle replica of live rows is dropped")
            self.kept.drop_live(partition, place)
            self._rated.pop((partition, place), None)
            self.turn.add(DropRows(place, partition))
            self.turn.add(ReplicaDropped(partition, place, idle_s, len(holders)))

    def _drop_blocks(self, partition: Partition, node: NodeId, idle_s: float = 0.0) -> None:
        self.storage.release(self.kept.drop_replica(partition, node), partition.rdd)
        copies = len(self.kept.block_nodes(partition))
        self.turn.add(ReplicaDropped(partition, node, idle_s, copies))

    def leave(self, segment: str) -> None:
        """Drops the replicas in a segment that moves: only originals are worth it."""
        for partition, node in self.kept.replicas_in(segment):
            self._drop_blocks(partition, node)
