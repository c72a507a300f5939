"""The parts of a run's model: jobs, stages, attempts, executors, nodes, RDDs and shuffles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pyrite.story import records
from pyrite.story.records import Fields

RUNNING, LOST = "running", "lost"
COMPLETE = "COMPLETE"


class Measured(NamedTuple):
    """What was measured of one attempt: the numbers of a TaskEnded record, under its names."""

    result_bytes: int = 0
    shuffle_written_bytes: int = 0
    run_s: float = 0.0
    cpu_s: float = 0.0
    deserialize_s: float = 0.0
    fetch_wait_s: float = 0.0
    gc_s: float = 0.0
    rows_read: int = 0
    rows_written: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    shuffle_local_bytes: int = 0
    shuffle_remote_bytes: int = 0
    shuffle_prefetched_bytes: int = 0
    spilled_bytes: int = 0
    peak_memory_bytes: int = 0
    kept_live: int = 0
    kept_pool: int = 0
    kept_remote: int = 0
    kept_disk: int = 0

    @property
    def shuffle_read_bytes(self) -> int:
        return self.shuffle_local_bytes + self.shuffle_remote_bytes + self.shuffle_prefetched_bytes


NOTHING = Measured()
PEAK = Measured._fields.index("peak_memory_bytes")


class Totals:
    """Counts of attempts, and sums of what was measured of them."""

    __slots__ = ("cancelled", "failed", "lost", "started", "succeeded", "sums")

    def __init__(self) -> None:
        self.started = 0
        self.succeeded = 0
        # Raised, or could not read their input.
        self.failed = 0
        self.cancelled = 0
        # Ended with their executor or node.
        self.lost = 0
        self.sums: list[float] = list(NOTHING)

    def count(self, outcome: str) -> None:
        """Counts an attempt that has ended."""
        match outcome:
            case records.SUCCEEDED:
                self.succeeded += 1
            case records.CANCELLED:
                self.cancelled += 1
            case _ if outcome == LOST:
                self.lost += 1
            case _:
                self.failed += 1

    def add(self, measured: Measured) -> None:
        """Adds up; of peaks it keeps the highest."""
        sums = self.sums
        peak = max(sums[PEAK], measured[PEAK])
        self.sums = [a + b for a, b in zip(sums, measured, strict=True)]
        self.sums[PEAK] = peak

    @property
    def measured(self) -> Measured:
        return Measured(*self.sums)  # type: ignore[arg-type]


@dataclass(slots=True)
class TaskAttempt:
    """One try at a task, and what came of it."""

    id: int
    stage: int
    job: int
    executor: int
    partitions: Sequence[int]
    number: int
    started_s: float
    divided: Fields | None = None
    ended_s: float | None = None
    outcome: str = RUNNING
    measured: Measured = NOTHING
    error: TaskFailure | None = None

    @property
    def completes(self) -> int:
        """How many partitions are done when it succeeds: none for a piece of a reducer."""
        is_piece = self.divided is not None and self.divided["maps"] is not None
        return 0 if is_piece else len(self.partitions)

    def duration_s(self, now_s: float) -> float:
        return (now_s if self.ended_s is None else self.ended_s) - self.started_s


@dataclass(slots=True)
class TaskFailure:
    """Why an attempt failed, as far as it may be told."""

    at_s: float
    attempt: int
    stage: int
    partitions: Sequence[int]
    executor: int
    error: str
    message: str
    traceback: str = ""


@dataclass(slots=True)
class JobState:
    """A job, and how many of its partitions are where."""

    id: int
    stage: int
    partitions: int
    began_s: float
    action: str = ""
    site: str = ""
    group: str | None = None
    tags: Sequence[str] = ()
    pool: str = "default"
    description: str = ""
    ended_s: float | None = None
    error: str | None = None
    message: str = ""
    active: int = 0
    done: int = 0
    failed: int = 0
    cancelled: int = 0
    # The stages that ran tasks for it.
    ran: dict[int, None] = field(default_factory=dict)

    @property
    def status(self) -> str:
        if self.ended_s is None:
            return "RUNNING"
        return "SUCCEEDED" if self.error is None else "FAILED"


@dataclass(slots=True)
class StageState:
    """A stage, the counts of its partitions, and its attempts where they are kept."""

    id: int
    name: str
    partitions: int
    parents: Sequence[int] = ()
    writes: int | None = None
    barrier: bool = False
    replayable: bool = True
    rdds: Sequence[Fields] = ()
    # The collection whose partitions it computes.
    namespace: int | None = None
    # How many partitions are wanted: of a job's last stage those that the job asked for.
    total: int = 0
    active: int = 0
    done: int = 0
    failed: int = 0
    cancelled: int = 0
    ended: bool = False
    # Attempts since it was complete, where map outputs of it were lost.
    again: int | None = None
    started_s: float | None = None
    ended_s: float | None = None
    jobs: dict[int, None] = field(default_factory=dict)
    totals: Totals = field(default_factory=Totals)
    attempts: list[TaskAttempt] = field(default_factory=list)
    traced: dict[str, None] = field(default_factory=dict)
    # Where its tasks were, how often, if they were sampled.
    samples: dict[str, int] = field(default_factory=dict)

    @property
    def status(self) -> str:
        if self.started_s is None:
            return "PENDING"
        if not self.ended:
            return "ACTIVE"
        return COMPLETE if self.done >= self.total else "FAILED"

    @property
    def shuffles(self) -> list[int]:
        """The shuffles that it reads."""
        found = (each.get("shuffle") for rdd in self.rdds for each in rdd["inputs"])
        return list(dict.fromkeys(each for each in found if each is not None))


@dataclass(slots=True)
class ExecutorState:
    """An executor process."""

    id: int
    node: str
    host: str = ""
    pid: int = 0
    joined_s: float = 0.0
    gone_s: float | None = None
    reason: str = ""
    output: Sequence[str] = ()
    # Attempts that ended with it.
    victims: list[int] = field(default_factory=list)
    running: dict[int, None] = field(default_factory=dict)
    totals: Totals = field(default_factory=Totals)
    # The time in which at least one attempt ran.
    busy_s: float = 0.0


class PoolState(NamedTuple):
    """A pool at one moment."""

    at_s: float
    size_bytes: int
    used_bytes: int
    lent_bytes: int
    borrowed_bytes: int
    rdds: Mapping[str, int]


@dataclass(slots=True)
class NodeState:
    """A node and its pool in time."""

    id: str
    pool_bytes: int = 0
    lends: bool = True
    storage_only: bool = False
    joined_s: float = 0.0
    gone_s: float | None = None
    reason: str = ""
    pool: list[PoolState] = field(default_factory=list)


class KeptPart(NamedTuple):
    """A kept partition: its size and where it lies; without blocks it is live in an executor."""

    bytes: int
    executor: int
    blocks: Sequence[Fields] = ()

    @property
    def place(self) -> str:
        """`live`, `memory` or `disk`."""
        return str(self.blocks[0]["medium"]) if self.blocks else "live"


@dataclass(slots=True)
class RddState:
    """An RDD that has an id, with its operators, and its kept partitions."""

    id: int
    partitions: int
    operators: Sequence[Fields] = ()
    stages: dict[int, None] = field(default_factory=dict)
    # While it is persisted.
    level: str | None = None
    kept: dict[int, KeptPart] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What the user called it, or its last operator."""
        if not self.operators:
            return f"RDD {self.id}"
        last = self.operators[-1]
        return str(last.get("name") or last.get("method") or last["operator"])

    @property
    def site(self) -> str:
        return str(self.operators[-1].get("site", "")) if self.operators else ""


@dataclass(slots=True)
class ShuffleState:
    """A shuffle: who writes and reads it, and what was foreseen of it."""

    id: int
    writer: int | None = None
    readers: dict[int, None] = field(default_factory=dict)
    parts: int = 0
    outputs: int = 0
    written_bytes: int = 0
    # The fields of SizesForeseen: predicted and true sizes by part, and errors.
    foreseen: Fields | None = None
    dropped_s: float | None = None


class Happening(NamedTuple):
    """A fault, a recovery or a decision, as a sentence."""

    at_s: float
    sentence: str
    # What it is about: `node`, `executor`, `stage`, `job`, `attempt`, `shuffle`.
    about: Mapping[str, Any]
