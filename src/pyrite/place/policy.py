"""Placement policies: the view that they get, and the preferences that they return."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pyrite.ids import BlockRef, ExecutorId, NodeId, Partition, RddId, StageId

if TYPE_CHECKING:
    from pyrite.plan.stages import StageSpec


class View(Protocol):
    """A policy's read-only view of the cluster."""

    def nodes(self) -> Collection[NodeId]:
        """The nodes that have executors."""

    def executors_on(self, node: NodeId) -> Sequence[ExecutorId]: ...

    def live_rdds(self) -> Collection[RddId]:
        """The RDDs that have live rows on an executor."""

    def is_live(self, partition: Partition) -> bool: ...

    def holders(self, partition: Partition) -> Sequence[ExecutorId]:
        """The executors that hold the partition's live rows."""

    def block_rdds(self) -> Collection[RddId]:
        """The RDDs that have a partition in a block, in memory or on disk."""

    def has_block(self, partition: Partition) -> bool: ...

    def block(self, partition: Partition) -> BlockRef | None: ...

    def reducer_places(self, stage: StageId) -> Mapping[int, NodeId]:
        """The nodes on which the stage's reducers were placed by their input."""

    def prefetched(self, stage: StageId) -> Mapping[int, NodeId]:
        """The reducers with prefetched input, complete or not, and its nodes."""

    def refetch_s(self, stage: StageId) -> float:
        """Estimates how long fetching a reducer's input again takes."""


class Strength(Enum):
    """What a preference means for the executors that it does not name."""

    # They may take the task only after the wait.
    WAIT = "wait"
    # They may take the task whenever they are idle; the node's executors get such tasks in turn.
    SHARE = "share"
    # As SHARE, but the task keeps its home by index if that is on the node.
    NEAR = "near"


class Preference(NamedTuple):
    """A policy's preference for some of the partitions that it was asked about."""

    strength: Strength
    executors: Mapping[int, Sequence[ExecutorId]] = {}
    nodes: Mapping[int, NodeId] = {}
    wait_s: float = 0.0


class Policy(Protocol):
    """One reason for a task to run at some place."""

    def prefer(self, stage: StageSpec, partitions: Sequence[int], view: View) -> Preference | None:
        """Returns where these tasks of a stage should run; None where the policy has no
        preference."""


class Preferences(NamedTuple):
    """The combined preferences for the tasks of one stage."""

    # Executors that a task waits for, and how long.
    executors: Mapping[int, Sequence[ExecutorId]] = {}
    wait_s: float = 0.0
    # Home slots that differ from what the index gives.
    homes: Mapping[int, int] = {}
