"""What should happen: the scheduler's only answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from pyrite.ids import (
    AttemptId,
    BlockRef,
    BroadcastId,
    ExecutorId,
    JobId,
    Partition,
    RddId,
    ShuffleId,
    StageId,
)


class Snapshot(NamedTuple):
    """All map outputs of a shuffle at one epoch: what a reduce task is launched with."""

    shuffle: ShuffleId
    epoch: int
    refs: tuple[BlockRef, ...]


@dataclass(frozen=True, slots=True)
class LaunchTask:
    attempt: AttemptId
    executor: ExecutorId
    stage: StageId
    partition: int
    number: int
    job: JobId
    inputs: tuple[Snapshot, ...] = ()
    blocks: tuple[tuple[Partition, BlockRef], ...] = ()


@dataclass(frozen=True, slots=True)
class CancelTask:
    attempt: AttemptId
    executor: ExecutorId


@dataclass(frozen=True, slots=True)
class KillExecutor:
    """The executor does not react; end its process."""

    executor: ExecutorId
    reason: str


@dataclass(frozen=True, slots=True)
class StartExecutor:
    """Replace an executor that was lost."""

    lost: ExecutorId


@dataclass(frozen=True, slots=True)
class DeliverResult:
    """A partition of a job has its result; accumulators count exactly here."""

    job: JobId
    partition: int
    result: bytes | BlockRef | None


@dataclass(frozen=True, slots=True)
class CountAccumulators:
    job: JobId
    updates: bytes


@dataclass(frozen=True, slots=True)
class FinishJob:
    job: JobId
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class GrantSpace:
    """The answer to SpaceWanted; refused means: write to disk."""

    owner: str
    segment: str
    granted: bool


@dataclass(frozen=True, slots=True)
class DropSegments:
    """No block in these segments is needed any more."""

    segments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DropRdd:
    """Executors forget the live rows of this RDD."""

    rdd: RddId


@dataclass(frozen=True, slots=True)
class DropShuffle:
    """Executors forget the snapshot of this shuffle."""

    shuffle: ShuffleId


@dataclass(frozen=True, slots=True)
class DropBroadcast:
    """Executors forget their decoded copy."""

    broadcast: BroadcastId


@dataclass(frozen=True, slots=True)
class ForgetStage:
    """No task of this stage runs any more; executors need not remember its functions."""

    stage: StageId


@dataclass(frozen=True, slots=True)
class ReleaseBarrier:
    """All tasks of the barrier have arrived; each hears what the others said."""

    attempts: tuple[tuple[AttemptId, ExecutorId], ...]
    messages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetTimer:
    name: str
    at_s: float


Command = (
    LaunchTask
    | CancelTask
    | KillExecutor
    | StartExecutor
    | DeliverResult
    | CountAccumulators
    | FinishJob
    | GrantSpace
    | DropSegments
    | DropRdd
    | DropShuffle
    | DropBroadcast
    | ForgetStage
    | ReleaseBarrier
    | SetTimer
)
