"""Placement policies: the view that they get, and the preferences that they return."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pyrite.ids import BlockRef, ExecutorId, NamespaceId, NodeId, Partition, RddId, StageId

if TYPE_CHECKING:
    from pyrite.place.colocate import RddCollection
    from pyrite.plan.stages import StageSpec


class ExecutorRanges(Protocol):
    """The ranges of keys of all executors, as they are now."""

    @property
    def cuts(self) -> int:
        """How often they have changed."""

    def came(self, keys: Iterable[int]) -> None:
        """Counts the keys of tasks that have come to wait."""

    def spans(self, executor: ExecutorId) -> Sequence[tuple[int, int]]:
        """The stretches of keys of an executor's node, its own range first."""

    def cached(self, executor: ExecutorId) -> Collection[int]:
        """The keys whose blocks are in the memory of an executor's node."""

    def is_cached(self, key: int) -> bool:
        """Whether some node has the block of the key in memory."""

    def executors(self, key: int) -> Sequence[ExecutorId]:
        """The executors whose stretches include the key, or whose nodes have its block in
        memory."""


class HoldersView(Protocol):
    """Who holds kept partitions."""

    def executors_on(self, node: NodeId) -> Sequence[ExecutorId]: ...

    def holders(self, partition: Partition) -> Sequence[ExecutorId]:
        """The executors that hold the partition's live rows."""

    def block_nodes(self, partition: Partition) -> Sequence[NodeId]:
        """The nodes that hold the partition's blocks, each once."""


class View(HoldersView, Protocol):
    """A policy's read-only view of the cluster."""

    def nodes(self) -> Collection[NodeId]:
        """The nodes that have executors."""

    def live_rdds(self) -> Collection[RddId]:
        """The RDDs that have live rows on an executor."""

    def is_live(self, partition: Partition) -> bool: ...

    def is_kept(self, partition: Partition) -> bool:
        """Whether the partition is kept, live or in blocks."""

    def collection(self, namespace: NamespaceId | None) -> RddCollection | None: ...

    def contention(self) -> Sequence[tuple[ExecutorId, int]]:
        """All executors, with the number of collection partitions that they hold."""

    def block_rdds(self) -> Collection[RddId]:
        """The RDDs that have a partition in a block, in memory or on disk."""

    def has_blocks(self, partition: Partition) -> bool: ...

    def blocks(self, partition: Partition) -> tuple[BlockRef, ...]: ...

    def reducer_places(self, stage: StageId) -> Mapping[int, NodeId]:
        """The nodes on which the stage's reducers were placed by their input."""

    def prefetched(self, stage: StageId) -> Mapping[int, NodeId]:
        """The reducers with prefetched input, complete or not, and its nodes."""

    def refetch_s(self, stage: StageId) -> float:
        """Estimates how long fetching a reducer's input again takes."""

    def ranges(self) -> ExecutorRanges: ...


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
    # The keys of tasks that go to whoever has the range at their launch.
    keys: Mapping[int, int] = {}
    # Executors that tasks start at if they are idle; any other may take them too.
    homes: Mapping[int, ExecutorId] = {}
    # The partitions that one task computes, for each of them. Where there are any, no policy after
    # this one is asked: it would part them.
    groups: Mapping[int, tuple[int, ...]] = {}


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
    # The keys of tasks that go by ranges, and the ranges.
    keys: Mapping[int, int] = {}
    ranges: ExecutorRanges | None = None
    # Whether other executors wait before they take such a task.
    keys_wait: bool = False
    # The partitions that one task computes; such tasks go elsewhere in the order of their wait, the
    # longest first.
    groups: Mapping[int, tuple[int, ...]] = {}
