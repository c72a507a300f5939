"""What the scheduler knows: every collection that its decisions read and change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyrite.blocks.ledger import Drop, Ledger
from pyrite.ids import (
    AttemptId,
    BlockRef,
    ExecutorId,
    JobId,
    NodeId,
    RddId,
    ShuffleId,
    StageId,
)
from pyrite.rare import rare
from pyrite.schedule.commands import (
    CancelTask,
    Command,
    DropSegments,
    SetTimer,
    StartExecutor,
)
from pyrite.schedule.health import ExclusionRule, Health
from pyrite.schedule.kept import Kept
from pyrite.schedule.memorybook import MemoryBook
from pyrite.schedule.outputs import Outputs
from pyrite.schedule.parcels import Parcels
from pyrite.schedule.pools import PoolShare, Turns
from pyrite.schedule.runs import Job, StageRun
from pyrite.schedule.taskset import Attempt, Speculation

if TYPE_CHECKING:
    from pyrite.schedule.backups import Backup
    from pyrite.schedule.rooms import Waiting


# The writer of the driver's own segments; those of executors are e0, e1...
DRIVER = "driver"


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings that decisions depend on."""

    executors: int = 0
    max_failures: int = 1
    max_deaths: int = 4
    max_fetch_failures: int = 4
    locality_wait_s: float = 3.0
    cancel_grace_s: float = 2.0
    fair: bool = False
    shares: dict[str, PoolShare] = field(default_factory=dict)
    speculation: Speculation | None = None
    speculation_interval_s: float = 0.1
    exclusion: ExclusionRule = field(default_factory=ExclusionRule)
    # Whether what the jobs under way will read, and will store, decides on room in the pools.
    foresight: bool = True
    reserve: bool = True
    # Reducers of smaller shuffles are not placed by what they read, nor is it fetched ahead.
    small_shuffle_bytes: int = 1 << 20
    # Reducers that read less together are computed as one task.
    tiny_reducers_bytes: int = 256 << 10
    # Whether reducers are placed, and their input is fetched, while maps still run; after which
    # share of the maps, and how many bytes may be on their way to one node.
    prefetch: bool = True
    observed_share: float = 0.05
    fetch_bytes: int = 48 << 20
    # How much of a map output is told of while its task still runs, where reducers that wait for it
    # have places; 0 where all of it is, at the end.
    buffer_bytes: int = 0
    # On how many nodes a map output shall lie.
    output_copies: int = 1
    # Reducers that read more, and much more than others, are divided; none where it is 0.
    divide_bytes: int = 0


@dataclass(slots=True)
class Executor:
    """An executor that is alive, and what it does."""

    id: ExecutorId
    node: NodeId
    slot: int
    attempt: Attempt | None = None
    ran: int = 0
    # The how manieth to become free it was when it last did.
    freed: int = 0


class State:
    """The scheduler's memory, and the few ways in which all of its parts change it."""

    # At most 30 attributes: with more, CPython looks each of them up in a table, and every event
    # takes a quarter longer.
    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.jobs: dict[JobId, Job] = {}
        self.runs: dict[StageId, StageRun] = {}
        self.turns: Turns[StageRun] = Turns(rules.fair, rules.shares)
        self.outputs = Outputs()
        self.kept = Kept()
        self.persisted: set[RddId] = set()
        self.ledger = Ledger()
        self.book = MemoryBook()
        self.waiting: list[Waiting] = []
        self.parcels = Parcels()
        # Copies of map outputs that are on their way, and outputs that shall have one.
        self.backups: dict[int, Backup] = {}
        self.to_copy: dict[tuple[ShuffleId, NodeId], list[int]] = {}
        self.leaving: dict[NodeId, None] = {}
        self.health = Health(rules.exclusion)
        self.executors: dict[ExecutorId, Executor] = {}
        self.executors_on: dict[NodeId, int] = {}
        # In the order in which they became free.
        self.free: dict[ExecutorId, Executor] = {}
        self.freed = 0
        self.slots: list[ExecutorId | None] = []
        self.empty_slots: list[int] = []
        self.attempts: dict[AttemptId, Attempt] = {}
        self.cancelled_groups: set[str] = set()
        self.looks_for_slow = False
        self.failed_starts = 0
        self.not_started: list[StartExecutor] = []
        self.next_attempt = 0
        self.commands: list[Command] = []
        self.now_s = 0.0

    def _set_free(self, executor: Executor) -> None:
        self.freed += 1
        executor.freed = self.freed
        executor.attempt = None
        self.free[executor.id] = executor

    def _cancel(self, attempt: Attempt) -> None:
        """Ends an attempt whose result nobody wants; its executor stays busy until it says so."""
        self._shed_installments(attempt)
        if attempt.tasks is not None:
            attempt.tasks.finish(attempt)
            attempt.tasks = None
        self.commands.append(CancelTask(attempt.id, attempt.executor))
        self._set_timer(f"cancel {attempt.id}", self.rules.cancel_grace_s)

    def _shed_installments(self, attempt: Attempt) -> None:
        """What the attempt has written of its map output is of no use."""
        installments, attempt.installments = attempt.installments, None
        if installments is None or attempt.writes is None:
            return
        rare("installments of a map output are of no use")
        outputs = self.outputs.shuffles.get(attempt.writes)
        for number, each in installments.items():
            if outputs is not None:
                outputs.shed(number, each)
        self._release(each.ref for each in installments.values())

    def _waiting_for(self, shuffle: ShuffleId) -> list[StageRun]:
        """The stages that can't start, or go on, without the shuffle."""
        return [run for run in self.runs.values() if shuffle in run.missing]

    def _set_timer(self, name: str, delay_s: float) -> None:
        self.commands.append(SetTimer(name, self.now_s + delay_s))

    def _release(self, refs: Iterable[BlockRef], rdd: RddId | None = None) -> None:
        """Nobody needs these blocks any more; they are partitions of the RDD, if they are kept."""
        self._drop([drop for ref in refs for drop in self.ledger.release(ref, rdd)])

    def _drop(self, drops: Iterable[Drop]) -> None:
        gone: dict[NodeId, list[str]] = {}
        for node, segment in drops:
            gone.setdefault(node, []).append(segment)
        for node, segments in gone.items():
            self.commands.append(DropSegments(node, tuple(segments)))
            self.parcels.has_more_room = True
