"""The ledger of all nodes' segments: which exist, who owns them, and what keeps them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from pyrite.blocks.names import moved_name
from pyrite.blocks.pool import Content, Pool, Segment
from pyrite.ids import BlockRef, ExecutorId, Medium, NodeId, RddId
from pyrite.probe import probe

Drop = tuple[NodeId, str]


@dataclass(slots=True)
class GrantedSegments:
    """The segments that one process was granted, and its running task may still write to."""

    # The segment that more blocks are packed into, for kept blocks (True) and others.
    open: dict[bool, Segment] = field(default_factory=dict)
    # Full segments whose blocks may not be reported yet.
    filled: list[Segment] = field(default_factory=list)
    # Segments lost with their node; they may still be written if the node rejoins.
    lost: list[Segment] = field(default_factory=list)

    def fill(self, kept: bool) -> None:
        last = self.open.pop(kept, None)
        if last is not None:
            self.filled.append(last)

    def close(self, segment: Segment) -> bool:
        """Forgets a segment that is full and whose blocks are reported; False if it is not
        listed."""
        if self.open.get(segment.kept) is segment:
            del self.open[segment.kept]
            return True
        if segment in self.filled:
            self.filled.remove(segment)
            return True
        return False

    def lose(self, node: NodeId) -> None:
        """Marks the segments on a lost node as lost."""
        self.lost += [s for s in (*self.open.values(), *self.filled) if s.place == node]
        self.open = {kept: each for kept, each in self.open.items() if each.place != node}
        self.filled = [each for each in self.filled if each.place != node]


@dataclass(slots=True, eq=False)
class Move:
    """A segment that is being moved: both copies count until the target is complete."""

    id: int
    source: Segment
    target: Segment
    # Whether the source stays when the target is complete.
    is_copy: bool = False


class Ledger:
    """Tracks segments and counts their live blocks.

    Methods that return `Drop`s name segments to remove from their nodes.
    """

    def __init__(self) -> None:
        self.pools: dict[NodeId, Pool] = {}
        self.segments: dict[str, Segment] = {}
        self.writers: dict[ExecutorId, GrantedSegments] = {}
        self.moves: dict[int, Move] = {}
        self.next_move = 0
        # What moves to lost nodes may still write there, if these come back.
        self.late_moves: dict[int, Drop] = {}
        # Bytes that lost nodes, which may rejoin, have in other nodes' pools.
        self.absent: dict[NodeId, int] = {}
        # Told of cached input that has given way.
        self.on_evicted: Callable[[Segment], None] | None = None

    # Nodes

    def join(
        self, node: NodeId, capacity_bytes: int, lends: bool = True, storage_only: bool = False
    ) -> None:
        self.pools[node] = Pool(node, capacity_bytes, lends, storage_only)
        self.pools[node].borrowed_bytes = self.absent.pop(node, 0)

    def lose(self, node: NodeId) -> list[Drop]:
        """Forgets all segments on a lost node; its segments elsewhere stay."""
        drops: list[Drop] = []
        for move in list(self.moves.values()):
            if node in (move.source.place, move.target.place):
                probe("a node goes while a segment moves")
                if node == move.target.place:
                    self.late_moves[move.id] = (node, move.target.name)
                drops += self.fail(move)
        for segment in [each for each in self.segments.values() if each.place == node]:
            self._remove(segment)
        for writer in self.writers.values():
            writer.lose(node)
        pool = self.pools.pop(node, None)
        if pool is not None and pool.borrowed_bytes:
            self.absent[node] = pool.borrowed_bytes
        return [each for each in drops if each[0] != node]

    # Writers

    def grant(self, writer: ExecutorId, segment: Segment, packs: bool) -> None:
        """Grants a segment to a writer; a new pack replaces the writer's last one, which is
        full."""
        segment.writer = writer
        granted = self.writers.setdefault(writer, GrantedSegments())
        self._add(segment)
        if packs:
            granted.fill(segment.kept)
            granted.open[segment.kept] = segment
        else:
            granted.filled.append(segment)

    def fill(self, writer: ExecutorId, kept: bool) -> None:
        """Marks the writer's open segment as full: it requests another."""
        if writer in self.writers:
            self.writers[writer].fill(kept)

    def settle(self, writer: ExecutorId) -> list[Drop]:
        """Seals full segments once all of the writer's blocks are reported; returns those to
        remove."""
        granted = self.writers.get(writer)
        if granted is None:
            return []
        pack = granted.open.get(True)
        if pack is not None and pack.place != pack.owner:
            # Writers leave no segment open on another node.
            granted.fill(True)
        filled, granted.filled = granted.filled, []
        lost, granted.lost = granted.lost, []
        if not granted.open:
            del self.writers[writer]
        drops = [(each.place, each.name) for each in lost if each.place in self.pools]
        for segment in filled:
            segment.sealed = True
            drops += self._drop_if_dead(segment)
            self._rest(segment)
        return drops

    def close(self, segment: Segment) -> None:
        """Seals a segment whose last block is reported, before its writer's next task ends."""
        granted = self.writers.get(segment.writer) if segment.writer is not None else None
        if granted is not None and granted.close(segment):
            segment.sealed = True

    def seal(self, writer: ExecutorId) -> list[Drop]:
        """Seals all segments of a dead writer; returns those to remove."""
        granted = self.writers.get(writer)
        if granted is not None:
            granted.fill(True)
            granted.fill(False)
        return self.settle(writer)

    def written_by(self, node: NodeId, writer: ExecutorId) -> tuple[str, ...]:
        """Returns the segments on the node that the writer made."""
        return tuple(
            name
            for name, segment in self.segments.items()
            if segment.place == node and segment.writer == writer
        )

    # Blocks

    def holds(self, ref: BlockRef) -> bool:
        """Whether the block can exist: its node may have been lost since it was written."""
        if ref.medium == "memory":
            return ref.segment in self.segments
        return ref.node in self.pools

    def pin(self, ref: BlockRef, writer: ExecutorId | None, rdd: RddId | None = None) -> None:
        """Counts a new block as live; a kept one is a partition of `rdd`."""
        if ref.node not in self.pools:
            return
        segment = self.segments.get(ref.segment)
        if segment is None:
            node, name, _, length, medium = ref
            segment = Segment(name, node, node, length, writer, medium, sealed=True)
            self._add(segment)
        segment.live += 1
        if rdd is not None:
            content = segment.rdds.setdefault(rdd, Content())
            content.blocks += 1
            content.bytes += ref.length

    def release(self, ref: BlockRef, rdd: RddId | None = None) -> list[Drop]:
        """Releases a block; returns its segment if that can be removed."""
        segment = self.segments.get(ref.segment)
        if segment is None:
            return []
        segment.live -= 1
        if rdd is not None:
            content = segment.rdds[rdd]
            content.blocks -= 1
            content.bytes -= ref.length
            if not content.blocks:
                del segment.rdds[rdd]
        return self._drop_if_dead(segment)

    def use(self, name: str) -> None:
        """Counts a reader of the segment."""
        segment = self.segments.get(name)
        if segment is not None:
            segment.readers += 1
            if segment.cached:
                self.pools[segment.place].begin_reading(segment)
            if segment.kept:
                self.pools[segment.place].touch(segment)

    def end_use(self, name: str) -> list[Drop]:
        segment = self.segments.get(name)
        if segment is None:
            return []
        segment.readers -= 1
        self._rest(segment)
        return self._drop_if_dead(segment)

    # Cached input

    def evict_input(self, pool: Pool) -> bool:
        """Drops the least recently used input that no task reads; returns whether there is one."""
        victim = next(iter(pool.idle_inputs.values()), None)
        if victim is None:
            return False
        self._remove(victim)
        if self.on_evicted is not None:
            self.on_evicted(victim)
        return True

    def _rest(self, segment: Segment) -> None:
        """Lets cached input give way once nobody writes or reads it."""
        is_used = segment.readers or not segment.live or not segment.sealed
        if segment.cached and not is_used and segment.name in self.segments:
            self.pools[segment.place].end_reading(segment)

    # Prefetched segments

    def begin_fetched(self, node: NodeId, name: str, size: int, medium: Medium) -> Segment:
        """Registers a segment that a node begins to fetch."""
        segment = Segment(name, node, node, size, medium=medium, fetched=True, live=1)
        self._add(segment)
        return segment

    def end_fetched(self, segment: Segment, live: int = 0) -> list[Drop]:
        """Ends a fetch with `live` needed blocks, 0 if it failed; returns the segment if it can be
        removed."""
        segment.live, segment.sealed = live, True
        return self._drop_if_dead(segment)

    # Moves

    def move(self, source: Segment, node: NodeId, medium: Medium) -> Move:
        """Starts to move a segment; its room at the target is taken at once."""
        self.next_move += 1
        target = Segment(
            moved_name(self.next_move),
            node,
            source.owner,
            source.bytes,
            medium=medium,
            kept=medium == "memory",
            to_disk=source.to_disk,
        )
        source.moving = True
        self.pools[source.place].outgoing_bytes += source.bytes
        self._add(target)
        move = Move(self.next_move, source, target)
        self.moves[move.id] = move
        return move

    def copy(self, source: Segment, node: NodeId) -> Move:
        """Starts to copy a segment into the memory of another node, whose own the copy is."""
        self.next_move += 1
        name, size = moved_name(self.next_move), source.bytes
        target = Segment(name, node, node, size, kept=True, to_disk=source.to_disk)
        source.moving = True
        self._add(target)
        move = Move(self.next_move, source, target, is_copy=True)
        self.moves[move.id] = move
        return move

    def copied(self, move: Move, blocks: Iterable[tuple[BlockRef, RddId]]) -> list[Drop]:
        """Ends a successful copy, with those of its blocks that are needed; returns segments to
        remove."""
        self._end_move(move)
        for ref, rdd in blocks:
            self.pin(ref, None, rdd)
        move.target.sealed = True
        return self._drop_if_dead(move.source) + self._drop_if_dead(move.target)

    def arrive(self, move: Move) -> list[Drop]:
        """Ends a successful move: the target has the blocks now; returns segments to remove."""
        source, target = move.source, move.target
        self._end_move(move)
        target.sealed = True
        target.live, source.live = source.live, 0
        target.rdds, source.rdds = source.rdds, {}
        return self._drop_if_dead(source) + self._drop_if_dead(target)

    def fail(self, move: Move) -> list[Drop]:
        """Ends a failed move; returns the target, which may exist in part, for removal."""
        self._end_move(move)
        self._remove(move.target)
        return [(move.target.place, move.target.name), *self._drop_if_dead(move.source)]

    def _end_move(self, move: Move) -> None:
        del self.moves[move.id]
        move.source.moving = False
        if not move.is_copy:
            self.pools[move.source.place].outgoing_bytes -= move.source.bytes

    def _drop_if_dead(self, segment: Segment) -> list[Drop]:
        if not segment.sealed or segment.live > 0 or segment.readers > 0 or segment.moving:
            return []
        if segment.name not in self.segments:
            return []
        self._remove(segment)
        return [(segment.place, segment.name)]

    def _add(self, segment: Segment) -> None:
        self.segments[segment.name] = segment
        if segment.in_memory:
            pool = self.pools[segment.place]
            while pool.capacity_bytes - pool.used_bytes < segment.bytes and self.evict_input(pool):
                probe("cached input gives way")
            pool.add(segment)
            self._lend(segment, segment.bytes)

    def _remove(self, segment: Segment) -> None:
        if self.segments.pop(segment.name, None) is not None and segment.in_memory:
            self.pools[segment.place].remove(segment)
            self._lend(segment, -segment.bytes)

    def _lend(self, segment: Segment, size: int) -> None:
        if segment.owner == segment.place:
            return
        if segment.owner in self.pools:
            self.pools[segment.owner].borrowed_bytes += size
            return
        self.absent[segment.owner] = self.absent.get(segment.owner, 0) + size
        if not self.absent[segment.owner]:
            del self.absent[segment.owner]

    def check(self) -> None:
        """Checks the ledger's invariants."""
        for pool in self.pools.values():
            self._check_pool(pool)
        for name, segment in self.segments.items():
            assert name == segment.name and segment.place in self.pools, name
            assert segment.live >= 0 and segment.readers >= 0, name
            kept = sum(content.blocks for content in segment.rdds.values())
            assert kept == segment.live or not segment.kept, name
            alive = segment.live or segment.readers or segment.moving
            assert alive or not segment.sealed, f"dead segment {name} is kept"
        for writer, granted in self.writers.items():
            for segment in (*granted.open.values(), *granted.filled):
                assert self.segments.get(segment.name) is segment, (writer, segment.name)
                assert not segment.sealed, (writer, segment.name)
        for move in self.moves.values():
            assert move.source.moving and move.source.name in self.segments
            assert not move.target.sealed and move.target.name in self.segments

    def _check_pool(self, pool: Pool) -> None:
        here = [s for s in self.segments.values() if s.in_memory and s.place == pool.node]
        away = [
            s
            for s in self.segments.values()
            if s.in_memory and s.owner == pool.node and s.place != pool.node
        ]
        assert pool.used_bytes == sum(each.bytes for each in here), pool.node
        own = [s for s in here if s.owner == pool.node and not s.cached]
        assert pool.own_bytes == sum(s.bytes for s in own), pool.node
        cached = [s for s in here if s.cached]
        assert pool.input_bytes == sum(s.bytes for s in cached), pool.node
        idle = {s.name for s in cached if s.sealed and s.live and not s.readers}
        assert pool.idle_inputs.keys() == idle, pool.node
        unread = sum(s.bytes for s in pool.idle_inputs.values())
        assert pool.free_bytes == pool.capacity_bytes - pool.used_bytes + unread, pool.node
        assert pool.borrowed_bytes == sum(each.bytes for each in away), pool.node
        listed = [name for kept in pool.kept.values() for name in kept]
        assert sorted(listed) == sorted(s.name for s in here if s.kept), pool.node
        leaving = [move.source for move in self.moves.values() if not move.is_copy]
        out = [source for source in leaving if source in here]
        assert pool.outgoing_bytes == sum(each.bytes for each in out), pool.node
        assert 0 <= pool.used_bytes <= pool.capacity_bytes, pool.node
        assert pool.promised_bytes >= 0, pool.node
