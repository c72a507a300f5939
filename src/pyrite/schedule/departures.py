"""Nodes that are asked to leave: no more tasks, and what they hold goes elsewhere first."""

from __future__ import annotations

from collections import Counter

from pyrite.ids import NodeId
from pyrite.probe import probe
from pyrite.schedule import events as ev
from pyrite.schedule.commands import ReleaseNode, SetTimer
from pyrite.schedule.fleet import Fleet
from pyrite.schedule.jobs import Jobs
from pyrite.schedule.outputs import Outputs, ShuffleOutputs
from pyrite.schedule.recovery import Recovery
from pyrite.schedule.replication import MOST_TRIES, Replication
from pyrite.schedule.room import Room
from pyrite.schedule.storage import Storage
from pyrite.schedule.timer import LeaveBy
from pyrite.schedule.turn import Turn


class Departures:
    """Empties nodes with executors.

    Their executors are forgotten as they become free. Then kept blocks move (`Room`), and each map
    output gets a replica that takes its place. What can't move is lost with the node, as if it had
    died; but for outputs that can't be made again alike the node waits until nobody needs them.
    """

    def __init__(
        self,
        turn: Turn,
        fleet: Fleet,
        storage: Storage,
        outputs: Outputs,
        room: Room,
        replication: Replication,
        jobs: Jobs,
        recovery: Recovery,
    ) -> None:
        self.turn = turn
        self.fleet = fleet
        self.storage = storage
        self.ledger = storage.ledger
        self.outputs = outputs
        self.room = room
        self.replication = replication
        self.jobs = jobs
        self.recovery = recovery

    def on_leaves(self, event: ev.NodeLeaves) -> None:
        self.begin(event.node)
        if event.by_s is not None and event.node in self.room.leaving:
            # Also where it leaves already: now it has less time.
            self.turn.add(SetTimer(LeaveBy(event.node), event.by_s))

    def begin(self, node: NodeId) -> None:
        """Has a node leave, as soon as it is empty."""
        pool = self.ledger.pools.get(node)
        # The driver's pool lends nothing, and stays.
        if pool is None or not pool.lends or pool.leaves:
            return
        pool.leaves, pool.lends = True, False
        self.room.clear(node)
        self.fleet.withdraw(node)
        self.jobs.judge_barriers()

    def on_deadline(self, timer: LeaveBy) -> None:
        """Lets a node go whose time is over, whatever it holds."""
        pool = self.ledger.pools.get(timer.node)
        if pool is not None and pool.leaves:
            probe("a node leaves before it is empty")
            self.room.stop_clearing(timer.node)
            self.turn.add(ReleaseNode(timer.node))

    def settle(self) -> None:
        """Forgets executors that are free, copies outputs, and releases nodes that are empty."""
        for node in self.room.leaving:
            free = [each for each in self.fleet.on(node) if each.attempt is None]
            for executor in free:
                probe("an executor of a leaving node gets no more tasks")
                self.recovery.retire(executor)
            if free:
                self.jobs.judge_barriers()
            if not self.fleet.on(node):
                lost = self._move_outputs(node)
                if lost is not None:
                    self.room.release_if_clear(node, lost)

    def _move_outputs(self, node: NodeId) -> Counter[str] | None:
        """Lets replicas take the place of outputs on the node, and orders those that lack.

        Returns how many outputs in each segment can't be copied, and go with the node; None while
        others wait to be copied, or to be needed no longer.
        """
        hopeless: Counter[str] = Counter()
        waits = False
        for outputs in self.outputs:
            left = []
            for index in outputs.on(node):
                self._drop_leaving_replica(outputs, index)
                if index in outputs.replicas:
                    probe("an output leaves its node")
                    self.storage.release(outputs.lose(index))
                elif outputs.is_copyable(index, MOST_TRIES):
                    left.append(index)
                elif self._stays_for(outputs):
                    probe("a node waits for what can't be made alike")
                    waits = True
                elif (ref := outputs.refs[index]) is not None:
                    probe("an output can't leave its node")
                    hopeless[ref.segment] += 1
            if left:
                waits = True
                self.replication.evacuate(outputs, node, left)
        return None if waits else hopeless

    def _stays_for(self, outputs: ShuffleOutputs) -> bool:
        """Whether a node keeps outputs that can't be copied: their loss would end jobs, which can
        still read the others."""
        return outputs.is_unique and not outputs.torn

    def _drop_leaving_replica(self, outputs: ShuffleOutputs, index: int) -> None:
        """Drops a replica on a node that leaves too, and may be gone before the output's own."""
        replica = outputs.replicas.get(index)
        if replica is not None and self.ledger.pools[replica.node].leaves:
            probe("an output and its replica leave their nodes")
            self.storage.release([outputs.replicas.pop(index)])
