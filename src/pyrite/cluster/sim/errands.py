"""What simulated nodes do together on the driver's orders, and how it hears of the end."""

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
    """Bytes that go between a node and another, and which lives of both it began in."""

    command: Command
    node: SimNode
    other: SimNode
    lives: tuple[int, int]


class Errands(Generic[Command]):
    """Ends errands when their time has come, and tells the driver, if anyone is left to."""

    def __init__(self, cluster: SimCluster) -> None:
        self.cluster = cluster

    def begin(self, command: Command, with_node: NodeId) -> None:
        """The command's node has heard of it."""
        cluster = self.cluster
        node, other = cluster.by_name[command.node], cluster.by_name[with_node]
        errand = Errand(command, node, other, (node.incarnation, other.incarnation))
        cost_s = cluster.latency_s() + BLOCK_S + command.bytes / REMOTE_BYTES_PER_S
        cluster.timeline.after(cost_s, self._end, errand)

    def _end(self, errand: Errand[Command]) -> None:
        node = errand.node
        if node.incarnation != errand.lives[0] or not node.up:
            # Who would tell has gone.
            return
        if node.hung_until_s > self.cluster.now_s():
            self.cluster.timeline.at(node.hung_until_s, self._end, errand)
            return
        self.report(errand, self.try_it(errand))

    def answers(self, errand: Errand[Command]) -> bool:
        """Whether the other node is still the one that it began with, and not hung."""
        other = errand.other
        is_same = other.incarnation == errand.lives[1] and other.up
        return is_same and other.hung_until_s <= self.cluster.now_s()

    def try_it(self, errand: Errand[Command]) -> str | None:
        """Does it, wholly or not at all; gives what is in the way."""
        raise NotImplementedError

    def report(self, errand: Errand[Command], problem: str | None) -> None:
        """Sends the driver word of what became of it."""
        raise NotImplementedError

    def send(self, errand: Errand[Command], told: Event, after_s: float) -> None:
        """Lets words reach the driver after a time."""
        self.cluster.timeline.after(after_s, self._reach, errand, told)

    def _reach(self, errand: Errand[Command], told: Event) -> None:
        # The last words of a node that has gone since may come all the same.
        if errand.node.incarnation != errand.lives[0]:
            self.cluster.reached["late word"] += 1
        self.cluster.events.append(told)
