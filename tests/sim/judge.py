"""Which errors the faults of a case justify."""

from __future__ import annotations

from collections import Counter

from cases import Case

from pyrite.errors import ClusterError, ExecutorDied, JobCancelled, StageAborted, TaskFailed
from pyrite.schedule import events as ev
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event

FULL_DISK = ("No space left on device", "could not be written")
LOST_ROWS = "rows of parallelize or of localCheckpoint are lost"
TORN = "repartition dealt"
LOST_INPUT = "lost its input"
NO_START = "executors end as soon as they start"
TOO_WIDE = "tasks that must run at once"
ALL_EXCLUDED = "every executor is excluded"
FAILED_STARTS = 8
SPOILT_COPIES = 4
# The faults that lose blocks, and how often one of them may lose the same one.
LOSSES = {
    "crash node": 1,
    "flap node": 4,
    "hang node": 1,
    "lose node": 1,
    "cut node": 1,
    "corrupt block": 1,
    "delete segment": 1,
    "truncate segment": 1,
    "fill disk": 0,
    # With a deadline.
    "drain node": 1,
}


class Judge:
    """Follows the story far enough to say whether a job may have failed so."""

    def __init__(self, case: Case) -> None:
        self.settings = dict(case.settings)
        kinds = Counter(fault.kind for fault in case.world.faults)
        self.full_disk = kinds["fill disk"] > 0
        self.losses = sum(LOSSES.get(kind, 0) * count for kind, count in kinds.items())
        # What took the place of outputs whose nodes have left may be spoilt, like all that is
        # fetched, and these are as many as segments.
        leave = kinds["drain node"] > 0 or "spark.dynamicAllocation.enabled" in self.settings
        if leave and case.world.spoilt_prefetched:
            self.losses += SPOILT_COPIES
        self.local_checkpoints = any(
            step.operator == "checkpoint" and step.arguments == (True,)
            for step in case.program.steps
        )
        self.drained = kinds["drain node"] > 0
        self.cancelled = case.cancel_all is not None
        self.deaths = 0
        self.errors: Counter[str] = Counter()

    def see(self, now_s: float, event: Event, commands: list[Command]) -> None:
        self.deaths += isinstance(event, ev.ExecutorLost | ev.StartFailed)

    def is_justified(self, error: Exception) -> bool:
        name = self._reason(error)
        if name is not None:
            self.errors[name] += 1
        return name is not None

    def _reason(self, error: Exception) -> str | None:
        text = str(error)
        match error:
            case JobCancelled():
                return "all cancelled" if self.cancelled else None
            case ExecutorDied():
                enough = self.deaths >= int(self.settings["spark.task.maxFailures"])
                return "executors died" if enough else None
            case TaskFailed() | ClusterError() if any(part in text for part in FULL_DISK):
                return "disk full" if self.full_disk else None
            case TaskFailed() | ClusterError() if LOST_ROWS in text:
                return "local checkpoint lost" if self.losses and self.local_checkpoints else None
            case StageAborted() if TORN in text:
                return "repartition torn" if self.losses else None
            case StageAborted() if LOST_INPUT in text:
                return "inputs lost" if self.losses >= 4 else None
            case StageAborted() if TOO_WIDE in text:
                return "executors have left" if self.drained else None
            case StageAborted() if NO_START in text:
                return "executors don't start" if self.deaths >= FAILED_STARTS else None
            case StageAborted() if ALL_EXCLUDED in text:
                lost = self.losses and self.local_checkpoints
                return "all excluded" if self.full_disk or lost else None
        return None
