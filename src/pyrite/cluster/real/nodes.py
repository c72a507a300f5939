"""The nodes of a cluster: those that have joined, and those that start."""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple

from pyrite.cluster.node.meeting import disagreement, own_versions
from pyrite.cluster.node.options import AgentHello, AgentOptions
from pyrite.cluster.node.watch import Probed, Watch
from pyrite.cluster.port import Threads
from pyrite.cluster.real.addressbook import AddressBook
from pyrite.cluster.real.agentlink import AgentLink
from pyrite.cluster.real.clusternode import ClusterNode, agent_node
from pyrite.cluster.real.reception import Arrival
from pyrite.cluster.real.starter import StartedAgent, Starter
from pyrite.cluster.waitqueue import WaitQueue
from pyrite.errors import ClusterError, ContextStopped
from pyrite.execute.limits import WorkerLimits
from pyrite.ids import NodeId
from pyrite.schedule.commands import WantExecutors

# After so many failed starts in a row the context ends.
FAILED_STARTS = 4
TICKET_BYTES = 16
STATUS_BYTES = 1 << 16


class AgentPlan(NamedTuple):
    """A node to start; a storage-only one has no executors."""

    id: NodeId
    executors: int
    pool_bytes: int
    limits: WorkerLimits
    # Where its block server listens.
    listen: tuple[str, int]
    # Shared memory that others on its machine may still fill.
    reserved_bytes: int = 0


class Ways(NamedTuple):
    """What all agents of a cluster are told."""

    secret: bytes
    driver: tuple[str, int]
    local_dir: str
    send_bytes_per_s: int
    alone_s: float | None


class Addition:
    """A node that a thread of the driver adds, and waits for."""

    def __init__(self) -> None:
        self.changed = WaitQueue(is_interruptible=False)
        self.joined = False
        self.problem: str | None = None

    def settle(self, problem: str | None) -> None:
        self.joined, self.problem = problem is None, problem
        self.changed.wake_all()


class StartingNode:
    """A node whose agent was started; it joins once the agent has said hello."""

    def __init__(self, plan: AgentPlan, ticket: str, started: StartedAgent) -> None:
        self.plan = plan
        self.ticket = ticket
        self.started = started
        self.agent: AgentLink | None = None
        self.node: ClusterNode | None = None
        self.problem = ""
        # A thread that waits for this start alone, which is not tried again.
        self.addition: Addition | None = None


class Nodes:
    """Starts nodes, and starts lost ones again.

    Calls `joined` for each node that joins, and `left` for each joined node that ends.
    """

    def __init__(
        self,
        starter: Starter,
        ways: Ways,
        poll: select.epoll,
        watch: Watch[Hashable],
        joined: Callable[[ClusterNode], None],
        left: Callable[[ClusterNode, str], None],
    ) -> None:
        self.starter = starter
        self.ways = ways
        self.poll = poll
        self.watch = watch
        self.joined = joined
        self.left = left
        self.nodes: dict[NodeId, ClusterNode] = {}
        # By ticket: all that were started and not lost; by descriptor: where their words come from.
        self.started: dict[str, StartingNode] = {}
        self.by_agent: dict[int, StartingNode] = {}
        self.by_status: dict[int, StartingNode] = {}
        self.leaving: dict[int, StartedAgent] = {}
        self.book = AddressBook()
        self.additions: list[Addition] = []
        self.refusing = False
        self.failed_starts: dict[NodeId, int] = {}
        # How many executors are wanted, once that is decided, and which nodes leave.
        self.order: WantExecutors | None = None
        # The nodes that had to leave: a lost one of them is not started again.
        self.sent_away: set[NodeId] = set()
        # Whether nodes join as soon as they can; until then they wait for each other.
        self.open = False

    # Starts

    def add(
        self, plan: AgentPlan, call: Callable[[Callable[[], None]], None], threads: Threads
    ) -> NodeId:
        """Adds a node and waits until it has joined; called by a thread beside the loop's."""
        addition = Addition()
        self.additions.append(addition)
        call(lambda: self.begin(plan, addition))
        threads.wait(addition.changed, lambda: addition.joined or addition.problem or self.refusing)
        self.additions.remove(addition)
        if self.refusing:
            raise ContextStopped("the context was stopped while a node was added")
        if addition.problem is not None:
            raise ClusterError(f"{plan.id} could not be started: {addition.problem}")
        return plan.id

    def refuse(self) -> None:
        """Lets nobody wait for a node any more: the loop has ended."""
        self.refusing = True
        for addition in list(self.additions):
            addition.changed.wake_all()

    def begin(self, plan: AgentPlan, addition: Addition | None = None) -> None:
        """Starts a node; it joins once its agent has said hello."""
        ticket = os.urandom(TICKET_BYTES).hex()
        try:
            started = self.starter.start(self._options(plan, ticket))
        except OSError as error:
            if addition is not None:
                addition.settle(str(error))
                return
            self._count_failure(plan, False, str(error))
            if self.starter.starts_again:
                self.begin(plan)
            return
        self.sent_away.discard(plan.id)
        starting = self.started[ticket] = StartingNode(plan, ticket, started)
        starting.addition = addition
        self.by_status[started.status_fd] = starting
        os.set_blocking(started.status_fd, False)
        self.poll.register(started.status_fd, select.EPOLLIN)

    def _options(self, plan: AgentPlan, ticket: str) -> AgentOptions:
        return AgentOptions(
            plan.id,
            ticket,
            self.ways.secret.hex(),
            self.ways.driver,
            plan.listen,
            self.ways.local_dir,
            plan.executors,
            plan.pool_bytes,
            self.ways.send_bytes_per_s,
            plan.limits,
            self.ways.alone_s,
            plan.reserved_bytes,
        )

    def accept(self, arrival: Arrival) -> None:
        """Lets an agent in, if it was started and is not given up."""
        starting = self.started.get(arrival.ticket)
        if starting is None or starting.agent is not None:
            arrival.sock.close()
        elif arrival.versions != own_versions():
            arrival.sock.close()
            problem = disagreement(starting.plan.id, arrival.versions, own_versions())
            if not self.open:
                raise ClusterError(problem)
            # A node that comes late is left out; the others go on.
            self.lose(starting, problem)
        else:
            agent = AgentLink(starting.plan.id, arrival.sock, self.poll, self.book)
            starting.agent = agent
            self.by_agent[agent.fd] = starting

    def greet(self, starting: StartingNode, hello: AgentHello) -> None:
        """An agent has said hello: its node joins, now or with the others."""
        assert starting.agent is not None
        plan = starting.plan
        if hello.pool_bytes < plan.pool_bytes:
            beside = " beside Ray's object store" if plan.reserved_bytes else ""
            self.watch.warn(
                f"{plan.id} has {hello.pool_bytes >> 20} MiB of free shared memory{beside}, and "
                f"its pool is cut to that from {plan.pool_bytes >> 20} MiB (pyrite.pool.memory): "
                "give its /dev/shm more, or ask for less"
            )
        starting.node = agent_node(plan.id, plan.executors, hello, starting.agent)
        if self.open:
            self.admit(starting)

    def all_greeted(self) -> bool:
        """Whether all that were started could join."""
        return all(each.node is not None for each in self.started.values())

    def open_to(self, plans: Iterable[AgentPlan]) -> None:
        """Lets the planned nodes join, in this order, and others as soon as they can."""
        self.open = True
        by_id = {each.plan.id: each for each in self.started.values()}
        for plan in plans:
            if plan.id in by_id:
                self.admit(by_id[plan.id])

    def admit(self, starting: StartingNode) -> None:
        """The node joins the cluster."""
        node = starting.node
        if node is not None and self.nodes.get(node.id) is not node:
            self.nodes[node.id] = node
            self._learn(node)
            self.joined(node)
            if starting.addition is not None:
                starting.addition.settle(None)
                starting.addition = None

    def want(self, order: WantExecutors) -> None:
        """Has nodes come, until there are as many executors as wanted; the order stands."""
        self.order = order
        self.sent_away.update(order.leaving)
        self._follow_order()

    def _follow_order(self) -> None:
        if self.order is not None:
            executors, leaving = self.order
            plans = [each.plan for each in self.started.values()]
            there = sum(plan.executors for plan in plans if plan.id not in leaving)
            for plan in self.starter.want(executors, there, leaving):
                self.begin(plan)

    def dismiss(self, node: NodeId) -> None:
        """Lets a node go that was asked to leave."""
        starting = self.find(node)
        if starting is not None:
            self.end(starting, "it was asked to leave")
            self.starter.released(node)
            self._follow_order()

    def add_driver(self, node: ClusterNode) -> None:
        """The driver's own node joins."""
        self.nodes[node.id] = node
        self._learn(node)
        self.joined(node)

    def _learn(self, node: ClusterNode) -> None:
        if node.address is not None:
            self.book.add(node.id, node.address)

    def _count_failure(self, plan: AgentPlan, had_started: bool, reason: str) -> None:
        failed = 0 if had_started else self.failed_starts.get(plan.id, 0) + 1
        self.failed_starts[plan.id] = failed
        if failed >= FAILED_STARTS and self.starter.starts_again:
            raise ClusterError(f"{plan.id} could not be started, {failed} times in a row: {reason}")

    # Words and silence

    def asked(self) -> dict[Hashable, Probed]:
        """All agents that are pinged, by ticket."""
        return {
            each.ticket: Probed(f"the agent of {each.plan.id}{shown_pid(each)}", each.agent.ping)
            for each in self.started.values()
            if each.agent is not None
        }

    def give_up(self, ticket: Hashable) -> None:
        """A silent agent is given up."""
        starting = self.started.get(str(ticket))
        if starting is not None:
            self.lose(starting, self.watch.end_of(ticket, "its agent was given up"))

    def read_status(self, fd: int) -> None:
        """Hears from a starter: why an agent has ended, or that it has."""
        try:
            said = os.read(fd, STATUS_BYTES)
        except BlockingIOError:
            # The event was of a connection closed in this turn, whose number this pipe has now.
            return
        if fd in self.leaving:
            if not said:
                self._gone(fd)
            return
        starting = self.by_status[fd]
        starting.problem += said.decode(errors="replace")
        if not said:
            self.lose(starting, starting.problem or "its processes were killed")

    def _gone(self, fd: int) -> None:
        """An agent that was let go has ended, with all that it started."""
        self.poll.unregister(fd)
        self.leaving.pop(fd).wait(0.0)

    # Ends

    def lose(self, starting: StartingNode, reason: str) -> None:
        """Ends a node that has lost its agent, and starts it again, empty."""
        proven = starting.node is not None and starting.node.proven
        self.end(starting, reason)
        if starting.addition is not None:
            starting.addition.settle(reason)
            return
        if starting.plan.id in self.sent_away:
            self.starter.released(starting.plan.id)
            self._follow_order()
            return
        self._count_failure(starting.plan, proven, reason)
        if self.starter.starts_again:
            self.begin(starting.plan)
        else:
            self.starter.lost(starting.plan.id, reason, proven)

    def end(self, starting: StartingNode, reason: str) -> None:
        """Ends a node for good: whatever it says from now on is not heard."""
        if self.started.pop(starting.ticket, None) is None:
            return
        self.watch.forget(starting.ticket)
        if starting.agent is not None:
            self.by_agent.pop(starting.agent.fd, None)
            starting.agent.hang_up()
        fd = starting.started.status_fd
        del self.by_status[fd]
        self.leaving[fd] = starting.started
        starting.started.let_go()
        node = starting.node
        if node is not None and self.nodes.get(node.id) is node:
            del self.nodes[node.id]
            self.book.remove(node.id)
            # At once: executors may wait for an answer of this node.
            for each in self.by_agent.values():
                if each.node is not None and each.agent is not None:
                    each.agent.tell_changes()
            self.left(node, reason)

    def find(self, node: NodeId) -> StartingNode | None:
        """The start by which a node has joined."""
        found = (each for each in self.started.values() if each.plan.id == node and each.node)
        return next(found, None)

    def release(self, timeout_s: float) -> None:
        """Ends all nodes at once, and waits for them."""
        for starting in list(self.started.values()):
            self.end(starting, "the context has ended")
        for started in self.leaving.values():
            started.wait(timeout_s)
        self.leaving.clear()


def shown_pid(starting: StartingNode) -> str:
    node = starting.node
    return "" if node is None or node.hello is None else f" (pid {node.hello.pid})"
