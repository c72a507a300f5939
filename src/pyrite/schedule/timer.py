"""The timers that the scheduler sets."""

from __future__ import annotations

from dataclasses import dataclass

from pyrite.ids import AttemptId, NodeId, StageId


# Classes, not named tuples: timers of different kinds must not be equal.
@dataclass(frozen=True, slots=True)
class CancelGrace:
    """When it fires, a cancelled attempt has ended or its executor is killed."""

    attempt: AttemptId


@dataclass(frozen=True, slots=True)
class LocalityWait:
    """When it fires, tasks of the stage no longer wait for the executors that they prefer."""

    stage: StageId


@dataclass(frozen=True, slots=True)
class SpeculationCheck:
    """When it fires, the scheduler looks for slow tasks."""


@dataclass(frozen=True, slots=True)
class LeaveBy:
    """When it fires, a node that was asked to leave goes, whatever it still holds."""

    node: NodeId


@dataclass(frozen=True, slots=True)
class ReplicaCheck:
    """When it fires, replicas that nobody has used for a while are dropped."""


@dataclass(frozen=True, slots=True)
class AllocationCheck:
    """When it fires, executors may be added, and nodes have been idle for long enough."""


Timer = CancelGrace | LocalityWait | SpeculationCheck | LeaveBy | ReplicaCheck | AllocationCheck
