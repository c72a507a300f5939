"""Orders to the nodes' storage, made of commands, and their outcomes, as events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pyrite.cluster.real.clusternode import ClusterNode
from pyrite.ids import NodeId
from pyrite.schedule.commands import (
    ClearExecutor,
    Command,
    DropSegments,
    FetchParts,
    MoveSegment,
)
from pyrite.schedule.events import (
    Event,
    PartsFetched,
    PartsNotFetched,
    SegmentMoved,
    SegmentNotMoved,
)

if TYPE_CHECKING:
    from pyrite.remote.errors import Address
    from pyrite.remote.fetcher import FetchOrder
    from pyrite.remote.mover import MoveOrder


class StorageOrders:
    """Has nodes remove, move and fetch segments."""

    def __init__(self, nodes: Mapping[NodeId, ClusterNode], post: Callable[[Event], None]) -> None:
        self.nodes = nodes
        self.post = post

    def perform(self, command: Command) -> bool:
        """Performs a command about segments; False if it is about something else."""
        match command:
            case MoveSegment():
                self._move(command)
            case FetchParts():
                self._fetch(command)
            case DropSegments():
                if command.node in self.nodes:
                    self.nodes[command.node].storage.remove(command.segments)
            case ClearExecutor():
                if command.node in self.nodes:
                    self.nodes[command.node].storage.clear(command.executor, command.known)
            case _:
                return False
        return True

    def _move(self, command: MoveSegment) -> None:
        node, target = self.nodes.get(command.node), self.nodes.get(command.target)
        if node is None or target is None:
            self.post(SegmentNotMoved(command.move, "its node has gone"))
            return
        order = move_order(command, None if target is node else target.address)
        node.storage.move(order, lambda move, reason: self.post(outcome("Moved", move, reason)))

    def _fetch(self, command: FetchParts) -> None:
        node, source = self.nodes.get(command.node), self.nodes.get(command.source)
        if node is None or source is None:
            self.post(PartsNotFetched(command.fetch, "its node has gone"))
            return
        node.storage.fetch(fetch_order(command, None if source is node else source.address))


def move_order(command: MoveSegment, address: Address | None) -> MoveOrder:
    from pyrite.remote.mover import MoveOrder

    source, target = command.segment, command.new_segment
    return MoveOrder(command.move, source, target, command.medium, address)


def fetch_order(command: FetchParts, address: Address | None) -> FetchOrder:
    from pyrite.remote.asking import ByteRange
    from pyrite.remote.fetcher import FetchOrder

    return FetchOrder(
        command.fetch,
        command.segment,
        command.medium,
        command.bytes,
        address,
        command.parts,
        command.maps,
        tuple(ByteRange(ref.segment, ref.offset, ref.length, ref.medium) for ref in command.refs),
        command.stretch,
    )


def outcome(kind: str, id: int, problem: str | None, *costs: float) -> Event:
    """The outcome of an order, as an event; of a fetch with what it cost."""
    if kind == "Moved":
        return SegmentMoved(id) if problem is None else SegmentNotMoved(id, problem)
    return PartsFetched(id, *costs) if problem is None else PartsNotFetched(id, problem)
