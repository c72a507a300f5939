"""A simulated executor: the real Worker, in a thread that takes its turns."""

from __future__ import annotations

from collections import deque
from random import Random
from typing import TYPE_CHECKING, Any

from pyrite.cluster.conversation import Message, Peer
from pyrite.cluster.sim.process import Process
from pyrite.cluster.sim.store import SimNode, SimStore
from pyrite.execute.worker import Limits, Stopped, Worker
from pyrite.ids import ExecutorId, NodeId

if TYPE_CHECKING:
    from pyrite.cluster.sim.cluster import SimCluster


class Killed(Stopped):
    """The executor ends here, in the middle of what it did."""


class SimExecutor(Peer):
    """One executor; it is the Channel of its worker and the Host of its store."""

    def __init__(self, id: ExecutorId, node: SimNode, cluster: SimCluster, limits: Limits) -> None:
        super().__init__(id, node.id)
        self.place = node
        self.cluster = cluster
        self.dice = Random(f"executor {id} {cluster.world.seed}")
        self.process = Process()
        self.inbox: deque[Message] = deque()
        self.receiving = False
        self.pausing = 0
        self.paused = 0
        self.to_cancel = -1
        self.signalled = False
        self.dead = False
        self.joined = False
        self.limits = limits
        self.worker: Worker | None = None
        self.last_sent_s = 0.0
        self.last_put_s = 0.0
        self.turn = cluster.turns.start_executor(self._live, f"executor {id}")

    # What the cluster does with it

    def put(self, message: Message) -> None:
        self.cluster.carry_to(self, message)

    def deliver(self, message: Message) -> None:
        """A message has arrived."""
        self.inbox.append(message)
        if self.receiving:
            self.resume()

    def signal(self, attempt: int) -> None:
        """Says which attempt is to be cancelled, and wakes it."""
        self.to_cancel = attempt
        self.signalled = True
        self.resume()

    def kill(self) -> None:
        """Ends the thread where it is."""
        self.dead = True
        if not self.turn.done:
            self._visit()

    def resume(self) -> None:
        """Lets it run until it has to wait, unless its node hangs."""
        if self.dead:
            return
        hung_until_s = self.place.hung_until_s
        if hung_until_s > self.now_s():
            self.cluster.timeline.at(hung_until_s, self.resume)
            return
        self._visit()

    def _visit(self) -> None:
        self.process.swap()
        try:
            self.cluster.turns.visit(self.turn)
        finally:
            self.process.swap()

    # The executor's own life

    def _live(self) -> None:
        world = self.cluster.world
        if self.dead:
            return
        store = SimStore(self, world.segment_bytes, world.spill_chance, self.dice)
        self.worker = Worker(f"e{self.id}", self, store, self.limits)
        self.worker.cancelled = lambda: self.to_cancel
        self.send(("ready", self.id))
        try:
            self.worker.serve()
        except Stopped:
            return

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
        message = self.inbox.popleft()
        if message[0] == "task":
            self.begin_task(message)
        return message

    def begin_task(self, message: Message) -> None:
        """Its computing takes a while; the rows themselves are computed in no time."""
        self.pause(self.dice.expovariate(1 / self.cluster.world.task_s))

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
        if self.dead:
            return
        node = self.place
        slow = 20.0 if node.slow_until_s > self.now_s() else 1.0
        self.pausing += 1
        mine = self.pausing
        self.cluster.timeline.after(cost_s * slow / node.speed, self._wake, mine)
        while self.paused < mine:
            self._wait()

    def _wake(self, pause: int) -> None:
        self.paused = max(self.paused, pause)
        self.resume()

    def reach(self, node: NodeId) -> SimNode:
        return self.cluster.reach(self, node)
