"""A task's prefetched input is on its node, is correct, and stays while the task runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from pyrite.blocks.codec import CorruptBlock
from pyrite.blocks.fetched import unpack_directory
from pyrite.blocks.parts import find_part
from pyrite.blocks.segments import SegmentReader
from pyrite.cluster.sim.checkers import CheckFailed
from pyrite.ids import AttemptId, BlockRef, ExecutorId, NodeId, ShuffleId
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event
from pyrite.schedule.scheduler import Scheduler

if TYPE_CHECKING:
    from pyrite.cluster.sim.cluster import SimCluster


class Ordered(NamedTuple):
    """The order of a prefetched segment, and its node's incarnation then."""

    order: do.FetchParts
    life: int


class PrefetchedReads:
    """Checks the prefetched segments that tasks read."""

    def __init__(self, scheduler: Scheduler, cluster: SimCluster) -> None:
        self.scheduler = scheduler
        self.cluster = cluster
        self.ordered: dict[str, Ordered] = {}
        self.nodes: dict[ExecutorId, NodeId] = {}
        self.readers: dict[AttemptId, do.LaunchTask] = {}
        # The segments that others were moved from.
        self.moved_from: dict[str, str] = {}

    def see(self, now_s: float, event: Event, commands: list[Command]) -> None:
        match event:
            case ev.TaskSucceeded() | ev.TaskRaised() | ev.TaskCancelled() | ev.FetchFailed():
                self.readers.pop(event.attempt, None)
            case ev.ExecutorJoined():
                self.nodes[event.executor] = event.node
            case ev.ExecutorLost():
                self._forget([event.executor])
            case ev.NodeJoined() | ev.NodeLost():
                self._forget([each for each, node in self.nodes.items() if node == event.node])
        for command in commands:
            match command:
                case do.FetchParts():
                    life = self.cluster.by_name[command.node].incarnation
                    self.ordered[command.segment] = Ordered(command, life)
                case do.LaunchTask() if command.prefetched:
                    self.readers[command.attempt] = command
                    self.cluster.reached["task with prefetched input"] += 1
                    self._check(command)
                case do.DropSegments():
                    self._drop(command)
                case do.MoveSegment():
                    self.moved_from[command.new_segment] = command.segment

    def _forget(self, executors: list[ExecutorId]) -> None:
        for executor in executors:
            self.nodes.pop(executor, None)
        launches = self.readers.items()
        self.readers = {id: each for id, each in launches if each.executor in self.nodes}

    def _drop(self, command: do.DropSegments) -> None:
        for launch in self.readers.values():
            if self.nodes[launch.executor] == command.node:
                read = {name for each in launch.prefetched for name in each.segments}
                if dropped := read.intersection(command.segments):
                    raise CheckFailed(f"{dropped} go while attempt {launch.attempt} reads them")
        for segment in command.segments:
            self.ordered.pop(segment, None)

    def _check(self, launch: do.LaunchTask) -> None:
        refs: dict[ShuffleId, dict[int, BlockRef]] = {}
        for snapshot in launch.inputs:
            refs[snapshot.shuffle] = dict(enumerate(snapshot.refs))
        for each in launch.prefetched:
            outputs = self.scheduler.outputs.get(each.shuffle)
            assert outputs is not None
            for segment in each.segments:
                self._check_prefetched(
                    launch, segment, refs.get(each.shuffle, {}), outputs.made_alike
                )

    def _check_prefetched(
        self,
        launch: do.LaunchTask,
        segment: str,
        refs: dict[int, BlockRef],
        alike: bool,
    ) -> None:
        where = self.nodes[launch.executor]
        found = self.ordered.get(segment)
        if found is None or found.order.node != where:
            raise CheckFailed(f"attempt {launch.attempt} is told of {segment}: not for {where}")
        order = found.order
        for number, ref in zip(order.maps, order.refs, strict=True):
            now = refs.get(number, ref)
            # A copy has the rows of the output whose place it took, and so has one that moved.
            if not alike and not self._is_same(now, ref) and not self._is_copy(now):
                raise CheckFailed(f"{segment} has map output {number} as it is no more")
        node = self.cluster.by_name[where]
        spoilt = self.cluster.faults.spoilt
        if segment in spoilt:
            self.cluster.reached["task with a spoilt prefetched segment"] += 1
        elif node.up and node.incarnation == found.life:
            path = node.folders.path(segment, order.medium)
            if not os.path.exists(path):
                raise CheckFailed(f"attempt {launch.attempt} is told of {segment}: no file")
            with open(path, "rb") as file:
                self._compare(order, memoryview(file.read()))

    def _is_same(self, now: BlockRef, then: BlockRef) -> bool:
        """Whether a block is still the one that it was, at another place perhaps."""
        segment: str | None = now.segment
        while segment is not None and segment != then.segment:
            segment = self.moved_from.get(segment)
        return segment is not None and now[2:4] == then[2:4]

    def _is_copy(self, ref: BlockRef) -> bool:
        segment = self.scheduler.storage.ledger.segments.get(ref.segment)
        return segment is not None and segment.fetched

    def _compare(self, order: do.FetchParts, fetched: memoryview) -> None:
        """Compares a segment with the map outputs, as far as these are intact."""
        entries = unpack_directory(fetched)
        if tuple(entry.map for entry in entries) != order.maps:
            raise CheckFailed(f"{order.segment} has the outputs of other maps")
        source = SegmentReader(self.cluster.by_name[order.source].folders)
        for entry, ref in zip(entries, order.refs, strict=True):
            if ref.segment in self.cluster.faults.spoilt:
                continue
            try:
                whole = source.view(ref)
            except OSError:
                continue
            selection = fetched[entry.offset : entry.offset + entry.length]
            for part in order.parts:
                try:
                    alike = find_part(selection, part) == find_part(whole, part)
                except CorruptBlock as error:
                    raise CheckFailed(f"{order.segment}, map {entry.map}: {error}") from error
                if not alike:
                    raise CheckFailed(f"{order.segment} has other rows of map {entry.map}")
