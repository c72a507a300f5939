"""Rounds of reducers whose input is prefetched wholly or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pyrite.blocks.pool import Segment
from pyrite.ids import Medium, NodeId, ShuffleId
from pyrite.schedule.outputs import OutputPlace


class Route(NamedTuple):
    """On which parts of a shuffle travel: from a node's memory, or its disk, to another node."""

    shuffle: ShuffleId
    source: NodeId
    medium: Medium
    target: NodeId

    @property
    def place(self) -> OutputPlace:
        return OutputPlace(self.source, self.medium)


@dataclass(slots=True, eq=False)
class PrefetchedSegment:
    """Parts of map outputs, in flight to the node that will reduce them, or there."""

    fetch: int
    segment: Segment
    source: NodeId
    shuffle: ShuffleId
    parts: frozenset[int]
    # The numbers of their blocks (schedule/outputs.py).
    maps: tuple[int, ...]
    unit: Unit
    began_s: float
    is_here: bool = False
    # Its node was told to drop it, but has not said yet what became of it.
    unwanted: bool = False

    @property
    def node(self) -> NodeId:
        return self.segment.place


@dataclass(slots=True, eq=False)
class Unit:
    """The reducers of a stage that run in one round: what they read is fetched for all or none."""

    number: int
    reducers: dict[NodeId, dict[int, None]] = field(default_factory=dict)
    unfinished: dict[int, None] = field(default_factory=dict)
    # Those that have been launched, and fetch for themselves what was not there.
    launched: dict[NodeId, dict[int, None]] = field(default_factory=dict)
    # About how many bytes of a shuffle have to come to a node for its reducers.
    expected_bytes: dict[tuple[ShuffleId, NodeId], int] = field(default_factory=dict)
    # Whether there was room for all of it when this was last asked.
    admitted: bool = False
    # How often it has had to make room for something else.
    given_up: int = 0
    fetched_bytes: dict[NodeId, int] = field(default_factory=dict)
    on_node: dict[NodeId, dict[int, PrefetchedSegment]] = field(default_factory=dict)
    # How many of the blocks that have come on a way were looked at.
    seen: dict[Route, int] = field(default_factory=dict)

    @property
    def segments(self) -> list[PrefetchedSegment]:
        """All that are there or on their way."""
        return [each for found in self.on_node.values() for each in found.values()]

    def missing_bytes(self) -> dict[NodeId, int]:
        """What is still to come to each node for reducers that wait, about."""
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
        """The map outputs of which the node has one of these parts, or will have."""
        return {
            number: None
            for each in self._meant_for(node, shuffle)
            if not (each.unwanted or each.parts.isdisjoint(parts))
            for number in each.maps
        }

    def frees(self, node: NodeId) -> bool:
        """Whether the node has more room at once when the unit is given up."""
        return any(
            each.is_here and not each.segment.readers
            for each in self.on_node.get(node, {}).values()
        )

    def at(
        self, node: NodeId, shuffle: ShuffleId, parts: Sequence[int]
    ) -> Iterator[PrefetchedSegment]:
        """What a reducer on the node that reads these parts of the shuffle can take."""
        for each in self._meant_for(node, shuffle):
            if each.is_here and each.parts.issuperset(parts):
                yield each

    def _meant_for(self, node: NodeId, shuffle: ShuffleId) -> Iterator[PrefetchedSegment]:
        for each in self.on_node.get(node, {}).values():
            if each.shuffle == shuffle:
                yield each
