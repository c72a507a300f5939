"""A simulated executor: the real Worker, in a thread that takes its turns."""

from __future__ import annotations

from collections import deque
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any

from pyrite.cluster.conversation import Message, Peer
from pyrite.cluster.sim.process import ProcessState
from pyrite.cluster.sim.store import SimNode, SimStore
from pyrite.execute.limits import WorkerLimits
from pyrite.execute.worker import Stopped, Worker
from pyrite.ids import ExecutorId, NodeId

if TYPE_CHECKING:
    from pyrite.cluster.sim.cluster import SimCluster


# What a look at the clock takes in virtual time, as kept partitions measure it.
TICK_S = 0.01
# Messages that an executor handles without an answer.
NEWS = (
    *("stage", "end", "snapshot", "end_shuffle", "drop", "drop_rows", "rate_rows", "forget"),
    "broadcast",
)
# How much longer everything takes on a slow node.
SLOW = 20.0
# The share of reads and writes that let virtual time pass.
PAUSES = 0.4


class Killed(Stopped):
    """The executor was killed in the middle of its work."""


class SimExecutor(Peer):
    """One executor; it is the Channel of its worker and the Host of its store."""

    def __init__(
        self, id: ExecutorId, node: SimNode, cluster: SimCluster, limits: WorkerLimits
    ) -> None:
        super().__init__(id, node.id)
        self.place = node
        self.cluster = cluster
        self.dice = Random(f"executor {id} {cluster.world.seed}")
        self.process = ProcessState()
        self.inbox: deque[Message] = deque()
        self.receiving = False
        self.owed_s = 0.0
        self.pausing = 0
        self.paused = 0
        self.to_cancel = -1
        self.signalled = False
        self.dead = False
        self.joined = False
        self.limits = limits
        # The incarnation of each node whose address it has.
        self.met: dict[NodeId, int] = {}
        self.worker: Worker | None = None
        # How long the tasks on their way to it compute, and the one that runs.
        self.coming_s: deque[float] = deque()
        self.computes_s = 0.0
        self.last_sent_s = 0.0
        self.last_put_s = 0.0
        self.turn = cluster.turns.start_executor(self._live, f"executor {id}")

    # Called by the cluster

    def put(self, message: Message) -> None:
        self.cluster.carry_to(self, message)

    def deliver(self, message: Message) -> None:
        """A message has arrived."""
        listens = self.receiving and not self.inbox and not self._stands_still()
        if listens and message[0] in NEWS and self.worker is not None and not self.dead:
            # Its thread would do this at once: no need to switch to it.
            self.process.swap()
            self.worker.handle(message)
            self.process.swap()
            return
        self.inbox.append(message)
        if self.receiving:
            self.resume()

    def _stands_still(self) -> bool:
        return self.place.stands_still(self.now_s())

    def signal(self, attempt: int) -> None:
        """Sets the attempt to cancel, and wakes the executor."""
        self.to_cancel = attempt
        self.signalled = True
        self.resume()

    def kill(self) -> None:
        """Ends the thread where it stands."""
        self.dead = True
        if not self.turn.done:
            self._visit()

    def resume(self) -> None:
        """Lets it run until it has to wait, unless its node hangs."""
        if self.dead:
            return
        if self._stands_still():
            self.cluster.timeline.at(self.place.hung_until_s, self.resume)
            return
        self._visit()

    def _visit(self) -> None:
        self.process.swap()
        try:
            self.cluster.turns.visit(self.turn)
        finally:
            self.process.swap()

    # The executor's own thread

    def _live(self) -> None:
        if self.dead:
            return
        store = SimStore(self, self.cluster.world, self.dice)
        self.worker = Worker(self.id, self, store, self.limits)
        # Each look at the clock takes a moment, the same in each run.
        ticks = count()
        self.worker.keeper.delays.clock = lambda: next(ticks) * TICK_S
        self.worker.cancelled = lambda: self.to_cancel
        self.send(("ready", int(self.id), self.node))
        try:
            self.worker.serve()
        except Stopped:
            # A process that ends closes its files.
            self.worker.writer.close()
            self.worker.reader.close()

    def send(self, message: tuple[Any, ...]) -> None:
        if not self.dead:
            self.cluster.carry_from(self, message)

    def receive(self, interruptible: bool = False) -> tuple[Any, ...]:
        self.receiving = True
        try:
            while not self.inbox:
                self._wait()
        finally:
            self.receiving = False
        return self.inbox.popleft()

    def poll(self) -> tuple[Any, ...] | None:
        return self.inbox.popleft() if self.inbox else None

    def computing_s(self) -> float:
        """How long the next task takes, apart from reading and writing."""
        took_s = self._slowed(self.dice.expovariate(1 / self.cluster.world.task_s))
        self.coming_s.append(took_s)
        return took_s

    def start_task(self) -> float:
        """A task starts; returns how long it has computed already."""
        self.computes_s = self.coming_s.popleft() if self.coming_s else 0.0
        return self.computes_s

    def _slowed(self, cost_s: float) -> float:
        slow = SLOW if self.place.slow_until_s > self.now_s() else 1.0
        return cost_s * slow / self.place.speed

    def _wait(self) -> None:
        self.cluster.turns.leave()
        if self.dead:
            raise Killed
        if self.signalled and self.worker is not None:
            self.signalled = False
            self.worker.interrupt(self.to_cancel)

    # As the host of its store

    def now_s(self) -> float:
        return self.cluster.timeline.now_s

    def pause(self, cost_s: float) -> None:
        self.owed_s += self._slowed(cost_s)
        # Each pause switches threads, which is slow: some pauses are enough for faults to hit.
        if self.dice.random() < PAUSES:
            owed_s, self.owed_s = self.owed_s, 0.0
            self.stand_still(owed_s)

    def stand_still(self, for_s: float) -> None:
        """Waits for a time that does not depend on the node's speed."""
        if self.dead:
            return
        self.pausing += 1
        mine = self.pausing
        self.cluster.timeline.after(for_s, self._wake, mine)
        while self.paused < mine:
            self._wait()

    def _wake(self, pause: int) -> None:
        self.paused = max(self.paused, pause)
        self.resume()

    def reach(self, node: NodeId) -> SimNode:
        return self.cluster.reach(self, node)
