"""Demand for nodes, as Ray's autoscaler sees it: actors that wait for a node to run on."""

from __future__ import annotations

import contextlib
from types import ModuleType
from typing import Any, NamedTuple


class WaitingAgent:
    """Waits for a node that has its share free; the driver then starts the node's agent instead."""

    def start(self) -> None:
        """Returns once there is a node."""


class AgentShape(NamedTuple):
    """What one waiting agent asks for."""

    cpus: int
    memory_bytes: int


class PendingAgent(NamedTuple):
    """One waiting agent, and the call that returns once it has a node."""

    shape: AgentShape
    actor: Any
    started: Any


class Demand:
    """The waiting agents; they belong to the starter's thread.

    Ray's own `request_resources` is one value, which applications overwrite for each other; actors
    are counted, and go with their driver.
    """

    def __init__(self, ray: ModuleType) -> None:
        self.ray = ray
        self.waiting: list[PendingAgent] = []

    def __bool__(self) -> bool:
        return bool(self.waiting)

    def show(self, count: int, shape: AgentShape) -> None:
        """Has so many agents of this shape wait, and no others."""
        kept = [each for each in self.waiting if each.shape == shape][:count]
        for each in self.waiting:
            if not any(each is other for other in kept):
                with contextlib.suppress(Exception):
                    self.ray.kill(each.actor)
        self.waiting = kept
        while len(self.waiting) < count:
            made = self.ray.remote(WaitingAgent).options(
                num_cpus=shape.cpus,
                memory=shape.memory_bytes or None,
                max_restarts=0,
                max_task_retries=0,
            )
            actor = made.remote()
            self.waiting.append(PendingAgent(shape, actor, actor.start.remote()))

    def is_met(self) -> bool:
        """Whether one of them has a node, so that there is one that could be used."""
        calls = [each.started for each in self.waiting]
        return bool(calls) and bool(self.ray.wait(calls, num_returns=1, timeout=0)[0])

    def withdraw(self) -> None:
        """Nothing is wanted, or the node that was wanted may be there."""
        self.show(0, AgentShape(0, 0))
