"""Prefetching in the simulated cluster: parts of map outputs that are fetched before reducers
start."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from pyrite.forecast.network import Share, SharedWork, Sources, Transfer
from pyrite.ids import BlockRef, NodeId, ShuffleId
from pyrite.place.sizes import encode
from pyrite.remote.fetchcost import MeasuredFetch
from pyrite.schedule import events as ev
from pyrite.schedule.commands import FetchParts

if TYPE_CHECKING:
    from pyrite.forecast.costed import CostedCluster

# With more parts their sizes are not reported: with so many reducers and maps, the scheduler would
# not sum them.
MOST_PARTS = 4000
NODE_LOST = "a node went down"


class FetchedSegment(NamedTuple):
    """A prefetched segment: the same parts of several map outputs; lost with its node."""

    node: NodeId
    life: int
    parts: frozenset[int]
    maps: tuple[int, ...]


class OnTheWay(NamedTuple):
    """A prefetched segment that has not arrived yet."""

    command: FetchParts
    transfer: Transfer | SharedWork | None


class ForecastFetches:
    """Prefetched segments, present or on their way, and the sizes that decide their places."""

    def __init__(self, cluster: CostedCluster) -> None:
        self._cluster = cluster
        self._lying: dict[str, FetchedSegment] = {}
        self._coming: dict[str, OnTheWay] = {}
        # A fetch identifies map outputs only by their refs: by segment, then by offset.
        self._shuffles: dict[str, dict[int, ShuffleId]] = {}
        self._codes: dict[tuple[ShuffleId, int], bytes] = {}

    # Map outputs

    def put(self, shuffle: ShuffleId, ref: BlockRef) -> bytes | None:
        """Records a map output; returns the sizes of its parts if they are reported."""
        shares = self._cluster.shares(shuffle)
        # As in the engine: on one node all reducers are local.
        if len(self._cluster.nodes) < 2 or len(shares) > MOST_PARTS:
            return None
        self._shuffles.setdefault(ref.segment, {})[ref.offset] = shuffle
        # Most map outputs of a workload have the same size.
        code = self._codes.get((shuffle, ref.length))
        if code is None:
            code = encode([round(share * ref.length) for share in shares])
            self._codes[shuffle, ref.length] = code
        return code

    def forget_shuffle(self, shuffle: ShuffleId) -> None:
        for segment, outputs in list(self._shuffles.items()):
            left = {offset: each for offset, each in outputs.items() if each != shuffle}
            if left:
                self._shuffles[segment] = left
            else:
                del self._shuffles[segment]
        self._codes = {key: code for key, code in self._codes.items() if key[0] != shuffle}

    def move(self, segment: str, new_segment: str) -> None:
        """Map outputs may have been moved with their segment."""
        if segment in self._shuffles:
            self._shuffles[new_segment] = dict(self._shuffles[segment])

    # Segments

    def lying_on(self, node: NodeId, life: int, segments: Sequence[str], part: int) -> list[str]:
        """The prefetched segments that are present and hold data of a part."""
        return [
            segment
            for segment in segments
            if (found := self._lying.get(segment)) is not None
            and (found.node, found.life) == (node, life)
            and part in found.parts
        ]

    def maps_in(self, segment: str) -> tuple[int, ...]:
        return self._lying[segment].maps

    def fetch(self, command: FetchParts) -> None:
        """Transfers parts of map outputs to the node that will reduce them."""
        source, target = self._cluster.nodes[command.source], self._cluster.nodes[command.node]
        if not (source.alive and target.alive):
            self._cluster.emit(ev.PartsNotFetched(command.fetch, NODE_LOST))
            return
        part_of_all = self._part_of_all(command)
        size = sum(ref.length for ref in command.refs) * part_of_all
        on_disk = sum(ref.length for ref in command.refs if ref.medium == "disk")
        loads: list[tuple[Share, float]] = []
        if on_disk:
            loads.append((source.disk, source.disk_read_s(on_disk * part_of_all)))
        loads += self._cluster.network.parts(command.node, Sources({command.source: size}))
        self._cluster.tally.fetched_bytes += size
        asked_s = 2 * target.kind.latency_s
        began_s = self._cluster.timeline.now_s
        self._coming[command.segment] = OnTheWay(command, None)

        def asked() -> None:
            cost = self._cost(command, began_s, size)
            self._cluster.timeline.after(asked_s, self._receive, command, size, cost)

        if loads:
            self._coming[command.segment] = OnTheWay(command, Transfer(loads, asked))
        else:
            asked()

    def _cost(self, command: FetchParts, began_s: float, size: float) -> MeasuredFetch:
        """What the target's block server would report."""
        if command.source == command.node:
            return MeasuredFetch()
        target = self._cluster.nodes[command.node]
        others = sum(each.command.node == command.node for each in self._coming.values())
        link_s = (self._cluster.timeline.now_s - began_s) / max(1, others)
        is_idle = target.cpu.users < target.kind.cores
        return MeasuredFetch(link_s, 0.0 if is_idle else self._cluster.model.fetch_s(size))

    def _receive(self, command: FetchParts, size: float, cost: MeasuredFetch) -> None:
        """Takes processor time from the target's tasks, if it runs any."""
        target = self._cluster.nodes[command.node]
        if command.segment in self._coming and target.kind.cores:
            done = partial(self._arrive, command.segment, cost)
            work = target.cpu.start(self._cluster.model.fetch_s(size), done)
            self._coming[command.segment] = OnTheWay(command, work)
        else:
            self._arrive(command.segment, cost)

    def _part_of_all(self, command: FetchParts) -> float:
        first = command.refs[0]
        shuffle = self._shuffles[first.segment][first.offset]
        return sum(self._cluster.share(shuffle, part) for part in command.parts)

    def _arrive(self, segment: str, cost: MeasuredFetch) -> None:
        coming = self._coming.pop(segment, None)
        # It may have been stopped, and reported, meanwhile.
        if coming is not None:
            command = coming.command
            life = self._cluster.nodes[command.node].life
            parts = frozenset(command.parts)
            self._lying[segment] = FetchedSegment(command.node, life, parts, command.maps)
            self._cluster.emit(ev.PartsFetched(command.fetch, *cost))

    def lose_node(self, node: NodeId) -> None:
        """Stops all transfers from or to the node, and forgets its segments."""
        for segment, (command, _) in list(self._coming.items()):
            if node in (command.source, command.node):
                self._stop(segment, NODE_LOST)
        self._lying = {name: each for name, each in self._lying.items() if each.node != node}

    def drop(self, segment: str) -> None:
        """Drops a prefetched segment; stops its transfer if it is under way."""
        self._lying.pop(segment, None)
        self._shuffles.pop(segment, None)
        if segment in self._coming:
            self._stop(segment, "it was dropped meanwhile")

    def _stop(self, segment: str, reason: str) -> None:
        command, transfer = self._coming.pop(segment)
        if transfer is not None:
            transfer.stop()
        self._cluster.emit(ev.PartsNotFetched(command.fetch, reason))
