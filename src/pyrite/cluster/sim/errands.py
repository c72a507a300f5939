"""Transfers between simulated nodes that the driver orders, and their reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from pyrite.cluster.sim.store import BLOCK_S, REMOTE_BYTES_PER_S, SimNode
from pyrite.ids import NodeId
from pyrite.schedule.commands import FetchParts, MoveSegment
from pyrite.schedule.events import Event

if TYPE_CHECKING:
    from pyrite.cluster.sim.cluster import SimCluster

Command = TypeVar("Command", MoveSegment, FetchParts)


@dataclass
class Errand(Generic[Command]):
    """A transfer between two nodes, with the incarnations of both at its start."""

    command: Command
    node: SimNode
    other: SimNode
    lives: tuple[int, int]


class Errands(Generic[Command]):
    """Ends errands when they are due, and reports to the driver if the node still lives."""

    def __init__(self, cluster: SimCluster) -> None:
        self.cluster = cluster

    def begin(self, command: Command, with_node: NodeId) -> None:
        """The command's node has received it."""
        cluster = self.cluster
        node, other = cluster.by_name[command.node], cluster.by_name[with_node]
        errand = Errand(command, node, other, (node.incarnation, other.incarnation))
        cost_s = cluster.latency_s() + BLOCK_S + command.bytes / REMOTE_BYTES_PER_S
        cluster.timeline.at(cluster.heard_s(node) + cost_s, self._end, errand)

    def _end(self, errand: Errand[Command]) -> None:
        node = errand.node
        if node.incarnation != errand.lives[0] or not node.up:
            # The node that would report is lost.
            return
        if node.stands_still(self.cluster.now_s()):
            self.cluster.timeline.at(node.hung_until_s, self._end, errand)
            return
        self.report(errand, self.try_it(errand))

    def answers(self, errand: Errand[Command]) -> bool:
        """Whether the other node is in the same incarnation as at the start, and not hung."""
        other = errand.other
        is_same = other.incarnation == errand.lives[1] and other.up
        return is_same and not other.stands_still(self.cluster.now_s())

    def try_it(self, errand: Errand[Command]) -> str | None:
        """Does it, wholly or not at all; returns the problem, if any."""
        raise NotImplementedError

    def report(self, errand: Errand[Command], problem: str | None) -> None:
        """Reports the outcome to the driver."""
        raise NotImplementedError

    def send(self, errand: Errand[Command], event: Event, after_s: float) -> None:
        """Has an event reach the driver after a time."""
        heard_s = self.cluster.heard_s(errand.node)
        self.cluster.timeline.at(heard_s + after_s, self._reach, errand, event)

    def _reach(self, errand: Errand[Command], event: Event) -> None:
        # The last messages of a node that was lost since may still arrive.
        if errand.node.incarnation != errand.lives[0]:
            self.cluster.reached["late word"] += 1
        self.cluster.events.append(event)
