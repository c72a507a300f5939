"""Parcels: what is fetched ahead for reducers, in units that are there wholly or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pyrite.blocks.pool import Segment
from pyrite.ids import NodeId, ShuffleId, StageId
from pyrite.schedule.outputs import Place

if TYPE_CHECKING:
    from pyrite.schedule.runs import StageRun


class Way(NamedTuple):
    """On which parts of a shuffle travel: from a node's memory, or its disk, to another node."""

    shuffle: ShuffleId
    source: NodeId
    on_disk: bool
    target: NodeId

    @property
    def place(self) -> Place:
        return Place(self.source, self.on_disk)


@dataclass(slots=True, eq=False)
class Parcel:
    """Parts of map outputs, on their way to the node that will reduce them, or there."""

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
    on_node: dict[NodeId, dict[int, Parcel]] = field(default_factory=dict)
    # How many of the blocks that have come on a way were looked at.
    seen: dict[Way, int] = field(default_factory=dict)

    @property
    def parcels(self) -> list[Parcel]:
        """All that are there or on their way."""
        return [parcel for parcels in self.on_node.values() for parcel in parcels.values()]

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
            for parcel in self._meant_for(node, shuffle)
            if not (parcel.unwanted or parcel.parts.isdisjoint(parts))
            for number in parcel.maps
        }

    def frees(self, node: NodeId) -> bool:
        """Whether the node has more room at once when the unit is given up."""
        return any(
            parcel.is_here and not parcel.segment.readers
            for parcel in self.on_node.get(node, {}).values()
        )

    def at(self, node: NodeId, shuffle: ShuffleId, parts: Sequence[int]) -> Iterator[Parcel]:
        """What a reducer on the node that reads these parts of the shuffle can take."""
        for parcel in self._meant_for(node, shuffle):
            if parcel.is_here and parcel.parts.issuperset(parts):
                yield parcel

    def _meant_for(self, node: NodeId, shuffle: ShuffleId) -> Iterator[Parcel]:
        for parcel in self.on_node.get(node, {}).values():
            if parcel.shuffle == shuffle:
                yield parcel


class Parcels:
    """All parcels, for whom they are fetched, and what is on its way between which nodes."""

    def __init__(self) -> None:
        self.last = 0
        # The stages for whose reducers is fetched ahead.
        self.planned: dict[StageId, StageRun] = {}
        # Something has gone since units were last admitted.
        self.has_more_room = False
        # Between which nodes there may be something to fetch; None stands for any.
        self.to_fetch: dict[tuple[NodeId | None, NodeId | None], None] = {}
        self.by_fetch: dict[int, Parcel] = {}
        self.to_node: dict[NodeId, int] = {}
        self.from_node: dict[NodeId, int] = {}
        self.busy: dict[tuple[NodeId, NodeId], int] = {}
        self.fetched_bytes = 0
        self.fetching_s = 0.0

    def begin(self, parcel: Parcel) -> None:
        self.by_fetch[parcel.fetch] = parcel
        parcel.unit.on_node.setdefault(parcel.node, {})[parcel.fetch] = parcel
        size = parcel.segment.bytes
        fetched = parcel.unit.fetched_bytes
        fetched[parcel.node] = fetched.get(parcel.node, 0) + size
        self.busy[parcel.source, parcel.node] = parcel.fetch
        self.to_node[parcel.node] = self.to_node.get(parcel.node, 0) + size
        self.from_node[parcel.source] = self.from_node.get(parcel.source, 0) + size

    def arrive(self, parcel: Parcel) -> None:
        """It travels no more, whatever became of it."""
        if parcel.is_here or parcel.fetch not in self.by_fetch:
            return
        del self.busy[parcel.source, parcel.node]
        self.to_node[parcel.node] -= parcel.segment.bytes
        self.from_node[parcel.source] -= parcel.segment.bytes

    def learn_pace(self, parcel: Parcel, now_s: float) -> None:
        self.fetched_bytes += parcel.segment.bytes
        self.fetching_s += now_s - parcel.began_s

    def fetch_s(self, size: float) -> float:
        """About how long so many bytes take from other nodes, by what was fetched so far."""
        return size * self.fetching_s / self.fetched_bytes if self.fetched_bytes else 0.0

    def forget(self, parcel: Parcel) -> None:
        self.arrive(parcel)
        if self.by_fetch.pop(parcel.fetch, None) is not None:
            beside = parcel.unit.on_node[parcel.node]
            del beside[parcel.fetch]
            if not beside:
                del parcel.unit.on_node[parcel.node]
            parcel.unit.fetched_bytes[parcel.node] -= parcel.segment.bytes
