"""Room in the pools: grants it to writers, and evicts segments to make it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyrite.blocks.ledger import Move
from pyrite.blocks.placement import Eviction, Knowledge, Place, Placement, RoomRequest
from pyrite.blocks.pool import Pool, Segment
from pyrite.ids import DRIVER, ExecutorId, Medium, NodeId
from pyrite.probe import probe
from pyrite.schedule import events as ev
from pyrite.schedule.commands import GrantSpace, MoveSegment, ReleaseNode
from pyrite.schedule.fleet import Fleet
from pyrite.schedule.keyranges import KeyRanges
from pyrite.schedule.lookahead import Lookahead
from pyrite.schedule.prefetch.eviction import PrefetchEviction
from pyrite.schedule.prefetch.flush import OutputFlush
from pyrite.schedule.replicas import Replicas
from pyrite.schedule.rules import Rules
from pyrite.schedule.stages import Stages
from pyrite.schedule.storage import Storage
from pyrite.schedule.turn import Turn

# After this many failed attempts to make room, a writer gets none.
MOST_TRIES = 3


@dataclass(slots=True, eq=False)
class Waiting:
    """A writer that waits until evicted segments have moved."""

    wanted: ev.SpaceWanted
    pool: Pool
    moves: dict[int, None]
    tries: int


class Room:
    """Grants room by R3S's placement, after evicted segments have moved."""

    def __init__(
        self,
        turn: Turn,
        rules: Rules,
        fleet: Fleet,
        stages: Stages,
        storage: Storage,
        ranges: KeyRanges,
        replicas: Replicas,
        eviction: PrefetchEviction,
        flush: OutputFlush,
    ) -> None:
        self.turn = turn
        self.rules = rules
        self.fleet = fleet
        self.stages = stages
        self.storage = storage
        self.ledger = storage.ledger
        self.ranges = ranges
        self.replicas = replicas
        self.eviction = eviction
        self.flush = flush
        self._waiting: list[Waiting] = []
        self._leaving: dict[NodeId, None] = {}
        # The bytes of kept partitions that found no room in any pool, or had to go to disk for
        # others, so far.
        self.short_bytes = 0

    # Writers

    def on_wanted(self, wanted: ev.SpaceWanted) -> None:
        if not self.is_alive(wanted.writer):
            # A late request: the segment would never be released.
            probe("a lost executor wants space")
            self._answer(wanted, None)
            return
        if wanted.cached:
            self._find_input_room(wanted)
            return
        if wanted.packs:
            self.ledger.fill(wanted.writer, wanted.rdd is not None)
        if wanted.writer == DRIVER:
            self.storage.drop(self.ledger.settle(DRIVER))
        self.find_room(wanted, tries=0)

    def _find_input_room(self, wanted: ev.SpaceWanted) -> None:
        """Grants room for cached input that nothing else has, within the limit for it."""
        for node in self._input_nodes(wanted):
            pool = self.ledger.pools.get(node)
            if pool is not None and self._clear_for_input(pool, wanted.bytes):
                self.grant(wanted, node)
                return
        self._answer(wanted, None)

    def _input_nodes(self, wanted: ev.SpaceWanted) -> list[NodeId]:
        """Where cached input may go: the nodes of its key first, if it has one."""
        owners = [] if wanted.key is None else self.ranges.owners(wanted.key)
        staying = [node for node in owners if node not in self._leaving]
        return list(dict.fromkeys((*staying, wanted.node)))

    def _clear_for_input(self, pool: Pool, size: int) -> bool:
        """Lets older input give way to new; returns whether there is room then."""
        most = self.rules.input_cache_bytes
        if size > min(most, pool.unused_bytes):
            return False
        while pool.input_bytes + size > most:
            if not self.ledger.evict_input(pool):
                probe("cached input finds no room")
                return False
        return True

    def is_alive(self, writer: ExecutorId) -> bool:
        return writer == DRIVER or writer in self.fleet

    def find_room(self, wanted: ev.SpaceWanted, tries: int) -> None:
        is_output = wanted.rdd is None and wanted.writer != DRIVER
        self.replicas.make_room(wanted.node, wanted.bytes)
        self.eviction.make_room(wanted.node, wanted.bytes, is_output)
        place = self._choose_place(wanted) if tries < MOST_TRIES else Place(None)
        if place.node is None:
            probe("the pool is full")
            self.short_bytes += wanted.bytes if wanted.rdd is not None else 0
            self._answer(wanted, None)
            return
        self.short_bytes += sum(each.segment.bytes for each in place.evictions if not each.target)
        moves = [self._evict(each) for each in place.evictions]
        waiting = {move.id: None for move in moves if move is not None}
        if not waiting:
            self.grant(wanted, place.node)
            return
        probe("a writer waits for room")
        pool = self.ledger.pools[place.node]
        pool.promised_bytes += wanted.bytes
        self._waiting.append(Waiting(wanted, pool, waiting, tries + 1))

    def _choose_place(self, wanted: ev.SpaceWanted) -> Place:
        if wanted.node not in self.ledger.pools:
            return Place(None)
        request = RoomRequest(wanted.node, wanted.bytes, wanted.rdd, wanted.is_copy)
        return Placement(self.ledger, request, self._knowledge()).decide()

    def _knowledge(self) -> Knowledge:
        ahead = Lookahead(self.stages, self.storage, self.fleet)
        known = Knowledge()
        if self.rules.lookahead:
            known = known._replace(next_use=ahead.next_use)
        if self.rules.reserve:
            known = known._replace(reserved_bytes=ahead.reserved_bytes)
        return known

    def grant(self, wanted: ev.SpaceWanted, place: NodeId) -> None:
        if place != wanted.node:
            probe("a block goes to another node's pool")
        segment = Segment(
            wanted.segment,
            place,
            # Cached input is nobody's.
            place if wanted.cached else wanted.node,
            wanted.bytes,
            kept=wanted.rdd is not None,
            to_disk=wanted.to_disk,
            cached=wanted.cached,
        )
        self.ledger.grant(wanted.writer, segment, wanted.packs)
        self._answer(wanted, place)

    def _answer(self, wanted: ev.SpaceWanted, place: NodeId | None) -> None:
        self.turn.add(GrantSpace(wanted.writer, wanted.segment, place))

    def settle(self) -> None:
        """Serves waiting writers, and clears nodes that leave."""
        if self._waiting:
            self._serve()
        if self._leaving:
            self._clear_leaving()

    def _serve(self) -> None:
        """Grants room that is free now, and retries where evictions failed."""
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            pool = each.pool
            is_there = self.ledger.pools.get(pool.node) is pool and not pool.leaves
            if is_there and pool.free_bytes >= each.wanted.bytes:
                pool.promised_bytes -= each.wanted.bytes
                self.grant(each.wanted, pool.node)
            elif is_there and any(move in self.ledger.moves for move in each.moves):
                self._waiting.append(each)
            else:
                probe("room did not become free")
                pool.promised_bytes -= each.wanted.bytes
                self.find_room(each.wanted, each.tries)

    def forget_writer(self, executor: ExecutorId) -> None:
        """Drops the requests of an executor that was lost, or whose task has ended."""
        if self._waiting:
            for each in [each for each in self._waiting if each.wanted.writer == executor]:
                self._waiting.remove(each)
                each.pool.promised_bytes -= each.wanted.bytes

    @property
    def waiting(self) -> list[Waiting]:
        return list(self._waiting)

    # Eviction

    def _evict(self, eviction: Eviction) -> Move | None:
        """Starts to move a segment; drops one that can neither move nor go to disk."""
        segment, target = eviction
        if segment.name not in self.ledger.segments:
            probe("a segment goes with another block of its partition")
            return None
        self.replicas.leave(segment.name)
        if segment.name not in self.ledger.segments:
            return None
        if target is not None:
            probe("a segment moves to another pool")
            return self._move(segment, target, "memory")
        if segment.to_disk:
            probe("a segment moves to disk")
            return self._move(segment, self._disk_for(segment), "disk")
        self.give_up(segment)
        return None

    def _disk_for(self, segment: Segment) -> NodeId:
        """Returns the node whose disk takes the segment: its owner, else its current node, else any
        that stays."""
        pools = self.ledger.pools
        near = [each for each in (segment.owner, segment.place) if each in pools]
        staying = [each for each in (*near, *pools) if not pools[each].leaves]
        return staying[0] if staying else segment.place

    def _move(self, segment: Segment, node: NodeId, medium: Medium) -> Move:
        move = self.ledger.move(segment, node, medium)
        new_name = move.target.name
        self.turn.add(
            MoveSegment(move.id, segment.place, segment.name, node, new_name, segment.bytes, medium)
        )
        return move

    def give_up(self, segment: Segment) -> None:
        """Drops the kept partitions in a segment; they are recomputed when they are read."""
        probe("kept partitions are given up for others")
        self.storage.book.dropped_bytes += segment.kept_bytes
        for partition, refs in self.storage.kept.drop_segment(segment.name):
            self.storage.release(refs, partition.rdd)

    def on_moved(self, event: ev.SegmentMoved) -> None:
        move = self.ledger.moves.get(event.move)
        if move is None:
            # Its node was lost meanwhile, and is back perhaps.
            probe("a segment arrives that nobody waits for")
            late = self.ledger.late_moves.pop(event.move, None)
            if late is not None and late[0] in self.ledger.pools:
                self.storage.drop([late])
            return
        if move.is_copy:
            self.replicas.on_copied(move)
            return
        source, target = move.source, move.target
        if self.flush.has_begun(move.id):
            self.flush.on_moved(move)
            return
        if target.in_memory:
            self.storage.book.moved_bytes += source.kept_bytes
        else:
            self.storage.book.spilled_bytes += source.kept_bytes
        self.storage.kept.relocate(source.name, target)
        self.storage.drop(self.ledger.arrive(move))

    def on_not_moved(self, event: ev.SegmentNotMoved) -> None:
        move = self.ledger.moves.get(event.move)
        if move is None:
            self.ledger.late_moves.pop(event.move, None)
            return
        if move.is_copy:
            self.replicas.on_not_copied(move)
            return
        if self.flush.has_begun(move.id):
            self.flush.stop(move)
            return
        probe("a segment can't be moved")
        source = move.source
        self.storage.drop(self.ledger.fail(move))
        pool = self.ledger.pools.get(source.place)
        if pool is not None and pool.leaves:
            self.give_up(source)

    # Nodes that leave

    @property
    def leaving(self) -> list[NodeId]:
        """The nodes that were asked to leave."""
        return list(self._leaving)

    @property
    def is_clearing(self) -> bool:
        return bool(self._leaving)

    def clear(self, node: NodeId) -> None:
        """Moves kept blocks off the node from now on."""
        self._leaving[node] = None

    def stop_clearing(self, node: NodeId) -> None:
        self._leaving.pop(node, None)

    def _clear_leaving(self) -> None:
        """Moves segments off leaving nodes."""
        for node in self._leaving:
            for segment in self.segments_on(node):
                if segment.movable:
                    self._move_away(segment)
                elif not segment.in_memory and not segment.readers and segment.kept_bytes:
                    self.give_up(segment)

    def release_if_clear(self, node: NodeId, lost: Mapping[str, int]) -> None:
        """Lets a leaving node go that holds only copies, and what is lost: so many blocks in each
        segment."""
        held = self.segments_on(node)
        is_storage_only = self.ledger.pools[node].storage_only
        if not any(is_storage_only or self._is_needed(each, lost) for each in held):
            del self._leaving[node]
            self.turn.add(ReleaseNode(node))

    def _is_needed(self, segment: Segment, lost: Mapping[str, int]) -> bool:
        if segment.moving or segment.readers > 0:
            return True
        # Results for the driver may be in the same segment as outputs that are lost.
        if segment.name in lost and segment.live <= lost[segment.name]:
            return False
        # Prefetched segments are copies, and so are replicas and cached input.
        return not segment.fetched and not segment.cached

    def lose_node(self, node: NodeId) -> None:
        self._leaving.pop(node, None)
        self.flush.lose_node(node)

    def segments_on(self, node: NodeId) -> list[Segment]:
        return [each for each in self.ledger.segments.values() if each.place == node]

    def _move_away(self, segment: Segment) -> None:
        request = RoomRequest(segment.place, segment.bytes, None)
        placement = Placement(self.ledger, request, self._knowledge())
        self._evict(placement.away(segment))
