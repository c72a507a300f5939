"""Only available outputs are prefetched, and no more bytes at once than the rules allow."""

from __future__ import annotations

from pyrite.blocks.fetched import fetched_bytes
from pyrite.cluster.sim.checkers import CheckFailed
from pyrite.ids import BlockRef, NodeId, ShuffleId
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event
from pyrite.schedule.scheduler import Scheduler


class FetchOrders:
    """Tracks fetch orders until their outcome is reported."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.nodes: set[NodeId] = set()
        self.lost: set[BlockRef] = set()
        self.on_way: dict[int, do.FetchParts] = {}

    def see(self, now_s: float, event: Event, commands: list[Command]) -> None:
        match event:
            case ev.NodeJoined():
                self.nodes.add(event.node)
                self._forget(event.node)
            case ev.NodeLost():
                self.nodes.discard(event.node)
                self._forget(event.node)
            case ev.FetchFailed():
                self.lost.update(ref for _, ref in event.lost)
            case ev.PartsFetched() | ev.PartsNotFetched():
                self.on_way.pop(event.fetch, None)
        for command in commands:
            if isinstance(command, do.FetchParts):
                segment = self.scheduler.segments.get(command.fetch)
                if segment is not None:
                    self._check(command, segment.shuffle)
                    self._send(command)
                else:
                    # Replicas of outputs are not bounded as prefetching is.
                    self._check(command, self.scheduler.replication.shuffle_of(command.fetch))

    def _forget(self, node: NodeId) -> None:
        self.on_way = {id: each for id, each in self.on_way.items() if each.node != node}

    def _check(self, order: do.FetchParts, shuffle: ShuffleId) -> None:
        for node in (order.node, order.source):
            if node not in self.nodes:
                raise CheckFailed(f"fetch {order.fetch} has to do with {node}, which is lost")
        if list(order.parts) != sorted(set(order.parts)):
            raise CheckFailed(f"fetch {order.fetch} asks for parts {order.parts}, out of order")
        known = self.scheduler.outputs.get(shuffle)
        assert known is not None
        for index, ref in zip(order.maps, order.refs, strict=True):
            if ref in self.lost or ref != known.refs[index]:
                raise CheckFailed(f"fetch {order.fetch} wants {ref}, which is known to be lost")

    def _send(self, order: do.FetchParts) -> None:
        self.on_way[order.fetch] = order
        beside = [each for each in self.on_way.values() if each.node == order.node]
        if sum(each.source == order.source for each in beside) > 1:
            raise CheckFailed(f"{order.source} sends {order.node} two prefetched segments at once")
        on_way = sum(map(frames_bytes, beside))
        # One that is larger than the limit is fetched alone.
        if len(beside) > 1 and on_way > self.scheduler.rules.fetch_bytes:
            raise CheckFailed(f"{on_way} bytes are on their way to {order.node} at once")


def frames_bytes(order: do.FetchParts) -> int:
    """The bytes of a prefetched segment without its directory and headers."""
    return order.bytes - fetched_bytes(len(order.maps), len(order.parts), 0)
