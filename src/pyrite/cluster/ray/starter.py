"""Starts agents as actors of Ray, one a node, and hears of their ends."""

from __future__ import annotations

import contextlib
import logging
import os
import select
import threading
import time
from collections import deque
from collections.abc import Collection
from types import ModuleType
from typing import Any

from pyrite.cluster.node.meeting import own_versions
from pyrite.cluster.node.options import AgentOptions
from pyrite.cluster.ray.actor import NodeActor
from pyrite.cluster.ray.actorends import told_end, was_out_of_memory
from pyrite.cluster.ray.members import ActorShare, RayMembers
from pyrite.cluster.ray.session import one_line
from pyrite.cluster.real.clustercalls import ClusterCalls
from pyrite.cluster.real.nodes import AgentPlan
from pyrite.errors import UserError
from pyrite.ids import NodeId

# How long an actor may take to end by itself once its agent was let go.
GRACE_S = 6.0
TURN_S = 0.1


class RayAgent:
    """An agent that Ray was asked to start."""

    def __init__(self, options: AgentOptions, share: ActorShare) -> None:
        self.options = options
        self.share = share
        self.status_fd, self.said_fd = os.pipe()
        self.actor: Any = None
        self.ran: Any = None
        self.let_go_s: float | None = None

    @property
    def place(self) -> str:
        """Its node, and the address by which Ray lists it."""
        return f"{self.options.node} (host {self.options.listen[0]})"

    def let_go(self) -> None:
        """Its connection is closed: the agent ends by itself, and the actor after it."""
        self.let_go_s = time.monotonic()

    def wait(self, timeout_s: float) -> None:
        poll = select.poll()
        poll.register(self.status_fd, select.POLLIN)
        end_s = time.monotonic() + timeout_s + GRACE_S
        while time.monotonic() < end_s:
            if poll.poll(100) and not os.read(self.status_fd, 4096):
                break
        with contextlib.suppress(OSError):
            os.close(self.status_fd)

    def end(self, reason: str) -> None:
        """Says why it has ended; called once, by the starter's thread."""
        with contextlib.suppress(OSError):
            os.write(self.said_fd, reason.encode()[: select.PIPE_BUF])
        os.close(self.said_fd)


class RayStarter:
    """One thread talks to Ray, so that the driver's loop never waits for it."""

    starts_again = False

    def __init__(
        self,
        ray: ModuleType,
        environment: dict[str, str],
        members: RayMembers,
    ) -> None:
        self.ray = ray
        self.environment = environment
        self.members = members
        self.asked: deque[RayAgent] = deque()
        self.agents: list[RayAgent] = []
        self.closing = False
        self.thread = threading.Thread(target=self._serve, name="pyrite-ray", daemon=True)

    def open(self, calls: ClusterCalls) -> None:
        self.members.calls = calls
        self.thread.start()

    def start(self, options: AgentOptions) -> RayAgent:
        agent = RayAgent(options, self.members.shares[options.node])
        self.asked.append(agent)
        return agent

    def lost(self, node: NodeId, reason: str, proven: bool) -> None:
        self.members.lost(node, reason, proven)

    def want(self, executors: int, there: int, leaving: Collection[NodeId]) -> list[AgentPlan]:
        """The thread knows which of Ray's nodes are free, and shows Ray what is lacking."""
        self.members.want(executors, leaving)
        return []

    def released(self, node: NodeId) -> None:
        self.members.released(node)

    def storage_plan(self, pool_bytes: int) -> AgentPlan:
        raise UserError(
            "on Ray a node that only lends memory is one with the resource pyrite_storage: "
            """start it with ray start --resources '{"pyrite_storage": 1}'"""
        )

    # The thread

    def _serve(self) -> None:
        while not self.closing or self.agents or self.asked:
            while self.asked:
                self._begin(self.asked.popleft())
            self._hear()
            if not self.closing:
                self.members.turn()
        self.members.demand.withdraw()

    def _begin(self, agent: RayAgent) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        share = agent.share
        try:
            actor = self.ray.remote(NodeActor).options(
                num_cpus=share.cpus,
                memory=share.memory_bytes or None,
                max_restarts=0,
                max_task_retries=0,
                scheduling_strategy=NodeAffinitySchedulingStrategy(share.ray_node, soft=False),
            )
            agent.actor = actor.remote()
            order = agent.options.to_json(), self.environment
            agent.ran = agent.actor.run.remote(agent.place, own_versions(), *order)
        except Exception as error:
            agent.end(one_line(error))
            return
        self.agents.append(agent)

    def _hear(self) -> None:
        """Waits a moment for ends of agents."""
        running = [agent.ran for agent in self.agents]
        if not running:
            time.sleep(TURN_S)
            return
        try:
            ended, _ = self.ray.wait(running, num_returns=1, timeout=TURN_S)
        except Exception:
            # Ray does not answer, or was shut down: our own connections tell of ends.
            ended = []
            time.sleep(TURN_S)
        now_s = time.monotonic()
        for agent in list(self.agents):
            late = agent.let_go_s is not None and now_s - agent.let_go_s > GRACE_S
            if agent.ran in ended:
                self._end(agent, self._reason(agent))
            elif late:
                self._end(agent, "it was killed")

    def _reason(self, agent: RayAgent) -> str:
        try:
            said: str = self.ray.get(agent.ran)
        except Exception as error:
            reason = told_end(error, agent.place)
            if agent.let_go_s is not None and was_out_of_memory(error):
                # The end of its connection was heard before, and told without this reason.
                logging.getLogger("pyrite").warning(reason)
            return reason
        return said

    def _end(self, agent: RayAgent, reason: str) -> None:
        self.agents.remove(agent)
        with contextlib.suppress(Exception):
            self.ray.kill(agent.actor)
        agent.end(reason)

    def close(self) -> None:
        """Ends the thread once all agents have ended."""
        self.closing = True
        if self.thread.is_alive():
            self.thread.join(2 * GRACE_S)
