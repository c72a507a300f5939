"""Nodes, files and writers for random walks: what the scheduler's commands do to real bytes."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import NamedTuple

from fetchworld import Fetching

from pyrite.ids import AttemptId, BlockRef, ExecutorId, NodeId, RddId
from pyrite.place.laf import KEYS
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev

OTHERS = [NodeId("node-1"), NodeId("node-2")]
STORES = [NodeId("storage-0"), NodeId("storage-1")]
POOLS = [0, 60, 100, 100, 200, 1000]
# Some walks have room for what is fetched ahead, whose directories are not small.
ROOMY = [400, 1000, 3000]
BLOCK_BYTES = 10
PARTS = 9


class Granted(NamedTuple):
    """A segment that a running task was given, and may have written to."""

    place: NodeId
    segment: str
    rdd: RddId | None
    bytes: int
    cached: bool = False

    def ref(self, number: int) -> BlockRef:
        # Numbers rather than offsets: a segment is never full here.
        return BlockRef(self.place, self.segment, 1000 + number, min(BLOCK_BYTES, self.bytes))


class Files:
    """The files of all nodes; no node holds more in memory than it has."""

    def __init__(self) -> None:
        self.capacities: dict[NodeId, int] = {}
        self.sizes: dict[tuple[NodeId, str], int] = {}
        # Names, which are never used again.
        self.on_disk: set[str] = set()

    def __contains__(self, ref: BlockRef) -> bool:
        return (ref.node, ref.segment) in self.sizes

    def drop_node(self, node: NodeId) -> None:
        self.capacities.pop(node, None)
        self.sizes = {key: size for key, size in self.sizes.items() if key[0] != node}

    def on(self, node: NodeId) -> list[str]:
        return [segment for place, segment in self.sizes if place == node]

    def check(self) -> None:
        for node, capacity in self.capacities.items():
            used = sum(self.sizes[node, each] for each in self.on(node) if each not in self.on_disk)
            assert used <= capacity, f"{node} holds {used} bytes of {capacity}"


class World:
    """Where executors run, what they have asked for, and what is on its way."""

    def __init__(self, dice: Random) -> None:
        self.dice = dice
        self.files = Files()
        self.nodes: dict[ExecutorId, NodeId] = {}
        self.running: dict[AttemptId, do.LaunchTask] = {}
        self.starting: list[tuple[ExecutorId, NodeId]] = []
        self.next_executor = 0
        self.count = 0
        self.asking: dict[ExecutorId, ev.SpaceWanted] = {}
        self.granted: dict[ExecutorId, list[Granted]] = {}
        # The segment for map outputs that an executor goes on writing to.
        self.open: dict[ExecutorId, Granted] = {}
        self.moves: dict[int, do.MoveSegment] = {}
        # Moves that came to nothing with their node, whatever is heard of them.
        self.void: set[int] = set()
        self.fetching = Fetching(dice)

    # Executors and nodes

    def start_executor(self, node: NodeId) -> None:
        if node in self.files.capacities:
            self.starting.append((ExecutorId(self.next_executor), node))
            self.next_executor += 1

    def end_executor(self, executor: ExecutorId) -> None:
        for attempt in [a for a, each in self.running.items() if each.executor == executor]:
            del self.running[attempt]
        for known in (self.asking, self.granted, self.open):
            known.pop(executor, None)
        del self.nodes[executor]

    def end_node(self, node: NodeId) -> int:
        """All on the node is gone; gives how many executors it had."""
        executors = [each for each, where in self.nodes.items() if where == node]
        waiting = [each for each in self.starting if each[1] == node]
        for each in executors:
            self.end_executor(each)
        self.starting = [each for each in self.starting if each not in waiting]
        self.files.drop_node(node)
        self.void |= {id for id, move in self.moves.items() if node in (move.node, move.target)}
        self.open = {writer: each for writer, each in self.open.items() if each.place != node}
        self.fetching.end_node(node)
        return len(executors) + len(waiting)

    # Writing

    def want(self, executor: ExecutorId, rdd: RddId | None, cached: bool = False) -> ev.SpaceWanted:
        dice = self.dice
        node = self.nodes[executor]
        self.count += 1
        if cached:
            size, name = dice.choice([10, 40]), f"e{executor}-{self.count}"
            key = dice.choice([None, 1, KEYS // 2])
            wanted = ev.SpaceWanted(node, executor, name, size, False, cached=True, key=key)
            self.asking[executor] = wanted
            return wanted
        packs = rdd is None or dice.random() < 0.3
        size = dice.choice([10, 30, 60, 60, 90])
        wanted = ev.SpaceWanted(
            node, executor, f"e{executor}-{self.count}", size, packs, rdd, dice.random() < 0.7
        )
        self.asking[executor] = wanted
        if rdd is None:
            self.open.pop(executor, None)
        return wanted

    def grant(self, command: do.GrantSpace) -> None:
        wanted = self.asking.pop(command.writer)
        assert wanted.segment == command.segment, "an answer to another question"
        if command.place is None:
            return
        assert command.place in self.files.capacities, "room on a node that is not there"
        may_move = wanted.rdd is not None or wanted.key is not None
        assert may_move or command.place == wanted.node, "a map output elsewhere"
        granted = Granted(command.place, command.segment, wanted.rdd, wanted.bytes, wanted.cached)
        self.files.sizes[command.place, command.segment] = wanted.bytes
        if wanted.rdd is None and not wanted.cached:
            self.open[command.writer] = granted
        else:
            self.granted.setdefault(command.writer, []).append(granted)

    def output(self, executor: ExecutorId) -> BlockRef:
        """A block that is not kept: where the executor packs them, or on its disk."""
        self.count += 1
        if executor in self.open and self.dice.random() < 0.7:
            return self.open[executor].ref(self.count)
        return self.on_disk(executor)

    def on_disk(self, executor: ExecutorId) -> BlockRef:
        self.count += 1
        ref = BlockRef(self.nodes[executor], f"e{executor}-{self.count}", 0, BLOCK_BYTES, "disk")
        self.files.sizes[ref.node, ref.segment] = BLOCK_BYTES
        self.files.on_disk.add(ref.segment)
        return ref

    def written(self, executor: ExecutorId) -> list[Granted]:
        """What the executor's task was given; late writes to nodes that are back count too."""
        granted = self.granted.pop(executor, [])
        for each in granted:
            if each.place in self.files.capacities:
                self.files.sizes.setdefault((each.place, each.segment), each.bytes)
        return granted

    # Moving and dropping

    def begin_move(self, move: do.MoveSegment) -> None:
        assert self.files.sizes.get((move.node, move.segment)) == move.bytes, f"no file: {move}"
        assert move.target in self.files.capacities, f"no target: {move}"
        self.moves[move.move] = move

    def end_move(self, faults: bool) -> ev.Event:
        """One of the segments arrives, or does not."""
        move = self.moves.pop(self.dice.choice(list(self.moves)))
        fails = faults and self.dice.random() < 0.2
        if move.move in self.void:
            self.void.remove(move.move)
        elif not fails:
            self.files.sizes[move.target, move.new_segment] = move.bytes
            self.fetching.move(move)
            if move.medium == "disk":
                self.files.on_disk.add(move.new_segment)
        return ev.SegmentNotMoved(move.move, "no space") if fails else ev.SegmentMoved(move.move)

    def drop(self, node: NodeId, segments: Iterable[str]) -> None:
        read = {(ref.node, ref.segment) for each in self.running.values() for _, ref in each.blocks}
        for launch in self.running.values():
            read |= {(ref.node, ref.segment) for _, ref in launch.cached if ref is not None}
            where = self.nodes[launch.executor]
            read |= {(where, name) for each in launch.prefetched for name in each.segments}
        for segment in segments:
            assert (node, segment) not in read, f"{segment} is dropped under its reader"
            self.fetching.drop(node, segment)
            self.files.sizes.pop((node, segment), None)
            for id, move in self.moves.items():
                if id not in self.void:
                    assert (move.node, move.segment) != (node, segment), "dropped on its way"
                    if (move.target, move.new_segment) == (node, segment):
                        self.void.add(id)
