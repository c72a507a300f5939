"""The records of a story: what happened, in order, each with its time and named fields.

The kinds that are folded into a model are classes here. Each other event and command of the
scheduler is told under its own name, as `Told`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

Fields = Mapping[str, Any]


class StageMade(NamedTuple):
    """A stage that a job needs, with its RDDs in the order of its program.

    An RDD has `id` (None for a copy made for one job), `partitions`, `operators` and `inputs`: a
    shuffle, or the place of another RDD in the list and the mapping of partitions. One that reads
    files of a ring has `keys`, of what each partition reads. An operator has `operator`, and of the
    call that made it `method`, `name`, `site` and `rdd`, the id if any.
    """

    at_s: float
    stage: int
    name: str
    partitions: int
    parents: Sequence[int] = ()
    # The shuffle that it writes; None for a stage that computes a job's results.
    writes: int | None = None
    barrier: bool = False
    replayable: bool = True
    rdds: Sequence[Fields] = ()
    # The collection whose partitions it computes.
    namespace: int | None = None


class JobBegan(NamedTuple):
    at_s: float
    job: int
    stage: int
    # How many partitions of its last stage it wants.
    partitions: int
    action: str = ""
    site: str = ""
    group: str | None = None
    tags: Sequence[str] = ()
    pool: str = "default"
    description: str = ""


class JobEnded(NamedTuple):
    at_s: float
    job: int
    # The class of the error, and what may be told of it; None for a job that succeeded.
    error: str | None = None
    message: str = ""


class StageEnded(NamedTuple):
    """No task of the stage will run, until another job needs it."""

    at_s: float
    stage: int


class TaskStarted(NamedTuple):
    at_s: float
    attempt: int
    executor: int
    stage: int
    # Computed in sequence; most tasks have one.
    partitions: Sequence[int]
    # How often the task was tried before.
    number: int
    job: int
    # Shuffles that it reads: `shuffle`, `epoch`, `outputs` and `bytes` of the whole shuffle.
    inputs: Sequence[Fields] = ()
    # Kept blocks and prefetched segments that it was told of.
    kept_blocks: int = 0
    prefetched: int = 0
    # For a task of a divided reducer: `place`, `shuffle`, `maps` (None where it merges), `blocks`.
    divided: Fields | None = None


SUCCEEDED, RAISED, CANCELLED, FETCH_FAILED = "succeeded", "raised", "cancelled", "fetch failed"


class TaskEnded(NamedTuple):
    """An attempt has ended, and what its executor measured.

    Attempts of a lost executor have no such record: they end with `ExecutorGone` or `NodeGone`.
    """

    at_s: float
    attempt: int
    outcome: str
    # By partition: the bytes of its result, or of its map output.
    made_bytes: Sequence[int] = ()
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
    # Kept partitions that it read, by where they were found.
    kept_live: int = 0
    kept_pool: int = 0
    kept_remote: int = 0
    kept_disk: int = 0
    # What the row machine ran of its functions, and why it did not run others.
    traced: Sequence[str] = ()


class PartitionsKept(NamedTuple):
    """What an attempt did with kept partitions; comes before its end.

    `stored` has `rdd`, `partition`, `bytes` and `blocks` (none for live rows), each block `node`,
    `segment`, `offset`, `bytes` and `medium`; `dropped` and `computed` have `rdd`, `partition`.
    """

    at_s: float
    attempt: int
    stored: Sequence[Fields] = ()
    dropped: Sequence[Fields] = ()
    computed: Sequence[Fields] = ()
    spilled_bytes: int = 0


class TaskSampled(NamedTuple):
    """Where an attempt was, how often: calls from the root on, joined by semicolons; comes before
    its end."""

    at_s: float
    attempt: int
    stacks: Mapping[str, int]


class InputsTold(NamedTuple):
    """The files that a stage reads, as they were: `path`, `bytes` and `changed_s`, the time of the
    last change in seconds since 1970; None where they are not known. Only with code."""

    at_s: float
    stage: int
    files: Sequence[Fields]


class TaskError(NamedTuple):
    """Why an attempt failed; comes before its end."""

    at_s: float
    attempt: int
    error: str
    message: str
    traceback: str = ""
    # Of a task that could not read map outputs.
    shuffle: int | None = None
    lost: Sequence[int] = ()


class NodeAdded(NamedTuple):
    at_s: float
    node: str
    pool_bytes: int
    lends: bool = True
    storage_only: bool = False


class NodeGone(NamedTuple):
    at_s: float
    node: str
    reason: str


class ExecutorAdded(NamedTuple):
    at_s: float
    executor: int
    node: str
    host: str = ""
    pid: int = 0


class ExecutorGone(NamedTuple):
    at_s: float
    executor: int
    reason: str
    # The last lines of its error output.
    output: Sequence[str] = ()


class RddKept(NamedTuple):
    """An RDD is persisted from now on."""

    at_s: float
    rdd: int
    # The collection that it belongs to.
    namespace: int | None = None
    level: str = ""
    # The digest of its partitioner, if it has one and belongs to a collection.
    partitioner: str = ""


class RddDropped(NamedTuple):
    at_s: float
    rdd: int


class ShuffleDropped(NamedTuple):
    at_s: float
    shuffle: int


class ResultDelivered(NamedTuple):
    at_s: float
    job: int
    partition: int
    bytes: int


class PoolSampled(NamedTuple):
    """A node's pool at one moment; written when it has changed."""

    at_s: float
    node: str
    size_bytes: int
    used_bytes: int
    lent_bytes: int = 0
    borrowed_bytes: int = 0
    # The bytes of kept partitions in it, by RDD.
    rdds: Mapping[str, int] = {}


class StageCode(NamedTuple):
    """The functions of a stage; blobs are named by number (`StoryReader.blob`).

    `layout` is a pickled ProgramLayout, `links` are pickled pipelines. `slices` are of operators
    that have one for each partition: `link`, the operator's `number` in it, and `blob`, a pickled
    dict of pickled slices by partition.
    """

    at_s: float
    stage: int
    layout: int
    links: Sequence[int]
    slices: Sequence[Fields] = ()
    broadcasts: Sequence[int] = ()
    python_paths: Sequence[str] = ()
    properties: Mapping[str, str] = {}
    # Names what was too large to be written.
    missing: Sequence[str] = ()


class BroadcastTold(NamedTuple):
    """A broadcast's value, encoded as its block is; no blob where it is too large."""

    at_s: float
    broadcast: int
    name: str
    bytes: int
    blob: int | None = None


class FileTold(NamedTuple):
    """A file that was added for tasks; no blob where it is too large."""

    at_s: float
    name: str
    bytes: int
    blob: int | None = None


class ApplicationEnded(NamedTuple):
    """The context was stopped; the last record. A story without it was cut off, or goes on."""

    at_s: float


class Told(NamedTuple):
    """Any other event or command, under its own name."""

    at_s: float
    kind: str
    fields: Fields


Record = (
    StageMade
    | JobBegan
    | JobEnded
    | StageEnded
    | TaskStarted
    | TaskEnded
    | PartitionsKept
    | TaskSampled
    | InputsTold
    | TaskError
    | NodeAdded
    | NodeGone
    | ExecutorAdded
    | ExecutorGone
    | RddKept
    | RddDropped
    | ShuffleDropped
    | ResultDelivered
    | PoolSampled
    | StageCode
    | BroadcastTold
    | FileTold
    | ApplicationEnded
    | Told
)

KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        StageMade, JobBegan, JobEnded, StageEnded, TaskStarted, TaskEnded, PartitionsKept,
        TaskSampled, InputsTold, TaskError, NodeAdded, NodeGone, ExecutorAdded, ExecutorGone,
        RddKept, RddDropped,
        ShuffleDropped, ResultDelivered, PoolSampled, StageCode, BroadcastTold, FileTold,
        ApplicationEnded,
    )
}  # fmt: skip


def kind_of(record: Record) -> str:
    """The name of a record's kind, as the file has it."""
    return record.kind if isinstance(record, Told) else type(record).__name__


def fields_of(record: Record) -> dict[str, Any]:
    """The named fields of a record, without its time."""
    if isinstance(record, Told):
        return dict(record.fields)
    fields = record._asdict()
    del fields["at_s"]
    return fields
