"""Identities of the things the engine speaks about."""

from __future__ import annotations

from typing import Literal, NamedTuple, NewType

RddId = NewType("RddId", int)
ShuffleId = NewType("ShuffleId", int)
StageId = NewType("StageId", int)
JobId = NewType("JobId", int)
AttemptId = NewType("AttemptId", int)
ExecutorId = NewType("ExecutorId", int)
NodeId = NewType("NodeId", str)
BroadcastId = NewType("BroadcastId", int)
NamespaceId = NewType("NamespaceId", int)

# The driver writes segments too, and runs no tasks.
DRIVER = ExecutorId(-1)
# Where on its node a segment lies: in shared memory, or on disk. Plain words, as they travel by
# marshal.
Medium = Literal["memory", "disk"]


class Partition(NamedTuple):
    """One partition of one RDD."""

    rdd: RddId
    index: int  # type: ignore[assignment]


class PieceId(NamedTuple):
    """A piece of a heavy reducer's work: its partition, and which piece of its stage it is."""

    partition: int
    number: int


# A task of a stage computes a partition, or a piece of a reducer.
TaskKey = int | PieceId


def partition_of(task: TaskKey) -> int:
    return task.partition if isinstance(task, PieceId) else task


class BlockRef(NamedTuple):
    """Where a block lies: on a node, a stretch of a segment in its memory or on its disk."""

    node: NodeId
    segment: str
    offset: int
    length: int
    medium: Medium = "memory"
