"""Where tasks should run: what a placement policy is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pyrite.ids import BlockRef, ExecutorId, NodeId, Partition, RddId, StageId

if TYPE_CHECKING:
    from pyrite.plan.stages import StageSpec


class View(Protocol):
    """What a policy may know of the cluster; nobody changes anything through it."""

    def nodes(self) -> Collection[NodeId]:
        """The nodes that have executors."""

    def executors_on(self, node: NodeId) -> Sequence[ExecutorId]: ...

    def live_rdds(self) -> Collection[RddId]:
        """The RDDs of which an executor holds live rows."""

    def is_live(self, partition: Partition) -> bool: ...

    def holders(self, partition: Partition) -> Sequence[ExecutorId]:
        """The executors that hold the partition's live rows."""

    def block_rdds(self) -> Collection[RddId]:
        """The RDDs of which a partition lies in a block, in memory or on disk."""

    def has_block(self, partition: Partition) -> bool: ...

    def block(self, partition: Partition) -> BlockRef | None: ...

    def reducer_places(self, stage: StageId) -> Mapping[int, NodeId]:
        """Where the reducers of the stage were placed by what they read."""

    def prefetched(self, stage: StageId) -> Mapping[int, NodeId]:
        """The reducers whose input was prefetched, at least in part, and to which nodes."""

    def refetch_s(self, stage: StageId) -> float:
        """About how long it takes to fetch a reducer's input once more."""


class Strength(Enum):
    """What a preference means for the executors that it does not name."""

    # They take the task after the wait, not before.
    WAIT = "wait"
    # They take the task whenever they are idle; a node's executors take such tasks in turn.
    SHARE = "share"
    # The same; and the task keeps its home by index if that is on the node.
    NEAR = "near"


class Preference(NamedTuple):
    """What a policy prefers for some of the partitions that it was asked about."""

    strength: Strength
    executors: Mapping[int, Sequence[ExecutorId]] = {}
    nodes: Mapping[int, NodeId] = {}
    wait_s: float = 0.0


class Policy(Protocol):
    """One reason for a task to run at some place."""

    def prefer(self, stage: StageSpec, partitions: Sequence[int], view: View) -> Preference | None:
        """Where these tasks of a stage should run; None where the policy has no say."""


class Preferences(NamedTuple):
    """What all policies together say of the tasks of one stage."""

    # Executors that a task waits for, and how long.
    executors: Mapping[int, Sequence[ExecutorId]] = {}
    wait_s: float = 0.0
    # Slots of tasks whose home is not the one that their index says.
    homes: Mapping[int, int] = {}
