"""Units: rounds of reducers whose input is prefetched as a whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pyrite.blocks.fetched import Stretch
from pyrite.blocks.pool import Segment
from pyrite.ids import Medium, NodeId, ShuffleId
from pyrite.schedule.outputs import OutputPlace


class Route(NamedTuple):
    """The route of a shuffle's parts: from a node's memory or disk to another node."""

    shuffle: ShuffleId
    source: NodeId
    medium: Medium
    target: NodeId

    @property
    def place(self) -> OutputPlace:
        return OutputPlace(self.source, self.medium)


@dataclass(slots=True, eq=False)
class PrefetchedSegment:
    """A segment of parts of map outputs, in flight to the reducers' node or arrived there."""

    fetch: int
    segment: Segment
    source: NodeId
    shuffle: ShuffleId
    parts: frozenset[int]
    # The maps that wrote them.
    maps: tuple[int, ...]
    unit: Unit
    # How many of the route's outputs the unit has considered with this order.
    route: Route
    last: int
    began_s: float
    # Its place in a file that the unit's segments on the node share.
    stretch: Stretch
    is_here: bool = False
    # Its node was ordered to drop it, and has not reported the end of the fetch.
    unwanted: bool = False

    @property
    def node(self) -> NodeId:
        return self.segment.place


@dataclass(slots=True, eq=False)
class Unit:
    """The reducers of a stage that run in one round, or in a few: their input is fetched for all or
    none."""

    number: int
    reducers: dict[NodeId, dict[int, None]] = field(default_factory=dict)
    unfinished: dict[int, None] = field(default_factory=dict)
    # Launched reducers; they fetch missing input themselves.
    launched: dict[NodeId, dict[int, None]] = field(default_factory=dict)
    # Expected bytes of a shuffle that a node has to fetch for its reducers.
    expected_bytes: dict[tuple[ShuffleId, NodeId], int] = field(default_factory=dict)
    # Whether the pools had room for all of it when admission last checked.
    admitted: bool = False
    # How often it was evicted.
    given_up: int = 0
    fetched_bytes: dict[NodeId, int] = field(default_factory=dict)
    # The last segment's place, while the node has segments.
    last_stretch: dict[NodeId, Stretch] = field(default_factory=dict)
    on_node: dict[NodeId, dict[int, PrefetchedSegment]] = field(default_factory=dict)
    # The segments on a node with parts of a map's output.
    of_map: dict[tuple[NodeId, ShuffleId, int], list[PrefetchedSegment]] = field(
        default_factory=dict
    )
    # How many of a route's outputs have been considered for orders, and how many of them have
    # arrived.
    seen: dict[Route, int] = field(default_factory=dict)
    landed: dict[Route, int] = field(default_factory=dict)

    @property
    def segments(self) -> list[PrefetchedSegment]:
        """All of its segments, arrived or in flight."""
        return [each for found in self.on_node.values() for each in found.values()]

    def missing_bytes(self) -> dict[NodeId, int]:
        """Estimates how many bytes each node still has to fetch for reducers that are not
        launched."""
        expected: dict[NodeId, int] = {}
        for (_, node), size in self.expected_bytes.items():
            expected[node] = expected.get(node, 0) + size
        found = {node: self._missing(node, size) for node, size in expected.items()}
        return {node: size for node, size in found.items() if size > 0}

    def missing_on(self, node: NodeId, shuffles: Iterable[ShuffleId]) -> int:
        """Estimates how many bytes of these shuffles the node still has to fetch."""
        if node not in self.reducers:
            return 0
        return self._missing(node, sum(self.expected_bytes.get((s, node), 0) for s in shuffles))

    def _missing(self, node: NodeId, expected: int) -> int:
        reducers, launched = len(self.reducers[node]), len(self.launched.get(node, ()))
        if not reducers:
            return 0
        return (
            max(0, expected - self.fetched_bytes.get(node, 0)) * (reducers - launched) // reducers
        )

    def add(self, segment: PrefetchedSegment) -> None:
        """Records a segment that is ordered."""
        self.on_node.setdefault(segment.node, {})[segment.fetch] = segment
        self.last_stretch[segment.node] = segment.stretch
        fetched = self.fetched_bytes.get(segment.node, 0)
        self.fetched_bytes[segment.node] = fetched + segment.segment.bytes
        for number in segment.maps:
            key = segment.node, segment.shuffle, number
            self.of_map.setdefault(key, []).append(segment)

    def remove(self, segment: PrefetchedSegment) -> None:
        """Forgets a segment that is dropped or lost."""
        on_node = self.on_node[segment.node]
        del on_node[segment.fetch]
        if not on_node:
            del self.on_node[segment.node], self.last_stretch[segment.node]
        self.fetched_bytes[segment.node] -= segment.segment.bytes
        for number in segment.maps:
            key = segment.node, segment.shuffle, number
            self.of_map[key].remove(segment)
            if not self.of_map[key]:
                del self.of_map[key]

    def has_fetched(
        self, node: NodeId, shuffle: ShuffleId, number: int, parts: Sequence[int]
    ) -> bool:
        """Whether the node has one of these parts of a map's output, or is fetching it."""
        return any(
            not (each.unwanted or each.parts.isdisjoint(parts))
            for each in self.of_map.get((node, shuffle, number), ())
        )

    def frees(self, node: NodeId) -> bool:
        """Whether evicting the unit frees room on the node at once."""
        return any(
            each.is_here and not each.segment.readers
            for each in self.on_node.get(node, {}).values()
        )

    def at(
        self, node: NodeId, shuffle: ShuffleId, parts: Sequence[int]
    ) -> Iterator[PrefetchedSegment]:
        """Returns the arrived segments that hold all of these parts."""
        for each in self._meant_for(node, shuffle):
            if each.is_here and each.parts.issuperset(parts):
                yield each

    def _meant_for(self, node: NodeId, shuffle: ShuffleId) -> Iterator[PrefetchedSegment]:
        for each in self.on_node.get(node, {}).values():
            if each.shuffle == shuffle:
                yield each
