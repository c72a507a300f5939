"""Units: rounds of reducers whose input is prefetched as a whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

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
    began_s: float
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
    on_node: dict[NodeId, dict[int, PrefetchedSegment]] = field(default_factory=dict)
    # How many of a route's outputs have been considered for orders.
    seen: dict[Route, int] = field(default_factory=dict)

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
        found: dict[NodeId, int] = {}
        for node, size in expected.items():
            reducers, launched = len(self.reducers[node]), len(self.launched.get(node, ()))
            left = (size - self.fetched_bytes.get(node, 0)) * (reducers - launched) // reducers
            if left > 0:
                found[node] = left
        return found

    def maps_of(self, shuffle: ShuffleId, node: NodeId, parts: Sequence[int]) -> dict[int, None]:
        """Returns the maps of which the node has one of these parts, or is fetching it."""
        return {
            number: None
            for each in self._meant_for(node, shuffle)
            if not (each.unwanted or each.parts.isdisjoint(parts))
            for number in each.maps
        }

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
