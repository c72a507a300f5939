"""Tells a chapter of the scheduler's story, an event and its commands, as records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyrite.ids import BlockRef, JobId, Partition, StageId
from pyrite.memory import MemoryReport
from pyrite.metrics import TaskMetrics
from pyrite.plan.program import Program
from pyrite.plan.stages import StageSpec, new_stages
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event, KeptNews
from pyrite.schedule.taskinputs import Snapshot
from pyrite.story import records as rec
from pyrite.story.plain import named_fields
from pyrite.story.records import Record, Told
from pyrite.story.stages import stage_made, stage_named

# How often the pools are looked at, by the engine's clock.
SAMPLE_S = 0.5
NO_NEWS = KeptNews()
NOT_FOUND = (0, 0, 0, 0)
# Snapshots whose bytes are remembered.
MOST_SNAPSHOTS = 64


# The attempt, its outcome, and what it made: bytes by partition, of results, of map outputs.
EndOfTask = tuple[int, str, Sequence[int], int, int]
CodeOfStage = Callable[[float, JobId, StageSpec, Program | None], list[Record]]


class Teller:
    """Turns chapters into records.

    In full, it tells everything; otherwise only what progress bars, the status tracker and
    descriptions of lineages need.
    With `values`, errors are told as their user sees them; otherwise with types and places only.
    """

    def __init__(
        self,
        find_program: Callable[[StageId], Program | None],
        pools: Callable[[], MemoryReport] | None = None,
        full: bool = True,
        values: bool = False,
    ) -> None:
        self.find_program = find_program
        self.pools = pools
        self.full = full
        self.values = values
        self.told_stages: set[StageId] = set()
        # The last stage of each running job: no other job has it.
        self.last_stages: dict[JobId, StageId] = {}
        # Tells the code of each new stage of a job, where that is wanted.
        self.tell_code: CodeOfStage | None = None
        self.next_sample_s = 0.0
        self.sampled: dict[str, tuple[Any, ...]] = {}
        # What a snapshot holds in all, by shuffle and epoch: many tasks are launched with one.
        self.snapshots: dict[tuple[int, int], dict[str, int]] = {}
        self.tellers: dict[type[Any], Callable[[float, Any, list[Record]], None]] = {
            do.LaunchTask: self._started,
            ev.TaskSucceeded: self._succeeded,
            ev.TaskRaised: self._raised,
            ev.TaskCancelled: self._cancelled,
            ev.FetchFailed: self._fetch_failed,
            ev.JobSubmitted: self._job,
            do.FinishJob: self._job_ended,
            do.ForgetStage: lambda at_s, it, out: out.append(rec.StageEnded(at_s, it.stage)),
            ev.NodeJoined: lambda at_s, it, out: out.append(rec.NodeAdded(at_s, *it[:4])),
            ev.NodeLost: lambda at_s, it, out: out.append(rec.NodeGone(at_s, *it)),
            ev.ExecutorJoined: lambda at_s, it, out: out.append(rec.ExecutorAdded(at_s, *it)),
            ev.ExecutorLost: self._executor_lost,
            ev.StartFailed: self._start_failed,
        }
        if not full:
            self.tellers[ev.TaskSucceeded] = self._succeeded_briefly
        else:
            self.tellers |= {
                ev.RddPersisted: lambda at_s, it, out: out.append(rec.RddKept(at_s, *it)),
                ev.RddForgotten: lambda at_s, it, out: out.append(rec.RddDropped(at_s, *it)),
                ev.ShuffleForgotten: lambda at_s, it, out: out.append(
                    rec.ShuffleDropped(at_s, *it)
                ),
                do.DeliverResult: self._delivered,
            }

    def tell(self, now_s: float, event: Event, commands: list[Command]) -> list[Record]:
        """The records of one chapter."""
        told: list[Record] = []
        tellers, full = self.tellers, self.full
        teller = tellers.get(type(event))
        if teller is not None:
            teller(now_s, event, told)
        elif full:
            told.append(Told(now_s, type(event).__name__, named_fields(event)))
        for command in commands:
            teller = tellers.get(type(command))
            if teller is not None:
                teller(now_s, command, told)
            elif full:
                told.append(Told(now_s, type(command).__name__, named_fields(command)))
        if full and now_s >= self.next_sample_s:
            self.sample(now_s, told)
        return told

    def sample(self, now_s: float, told: list[Record]) -> None:
        """Tells of the pools that have changed since they were looked at last."""
        self.next_sample_s = now_s + SAMPLE_S
        for node in () if self.pools is None else self.pools().nodes:
            seen = node.size_bytes, node.used_bytes, node.lent_bytes, node.borrowed_bytes
            if self.sampled.get(node.node) != (*seen, node.rdds):
                self.sampled[node.node] = *seen, node.rdds
                rdds = {str(rdd): size for rdd, size in node.rdds.items()}
                told.append(rec.PoolSampled(now_s, node.node, *seen, rdds))

    def _job(self, at_s: float, event: ev.JobSubmitted, out: list[Record]) -> None:
        job = event.job
        self.last_stages[job.id] = job.stage.id
        for stage in new_stages(job.stage, self.told_stages):
            self.told_stages.add(stage.id)
            program = self.find_program(stage.id) if self.full else None
            made = stage_made(at_s, stage, program) if self.full else stage_named(at_s, stage)
            out.append(made)
            if self.tell_code is not None:
                out += self.tell_code(at_s, job.id, stage, program)
        out.append(
            rec.JobBegan(
                at_s,
                job.id,
                job.stage.id,
                len(job.partitions),
                job.action,
                job.site,
                job.group,
                tuple(sorted(job.tags)),
                job.pool,
                job.description,
            )
        )

    def _job_ended(self, at_s: float, command: do.FinishJob, out: list[Record]) -> None:
        error = command.error
        if (last := self.last_stages.pop(command.job, None)) is not None:
            self.told_stages.discard(last)
        if error is None:
            out.append(rec.JobEnded(at_s, command.job))
        else:
            message = getattr(error, "told", "") if not self.values else ""
            message = message or self._reason(str(error))
            out.append(rec.JobEnded(at_s, command.job, type(error).__name__, message))

    def _reason(self, text: str) -> str:
        """Why something ended, without what a dead executor has printed: that may be rows."""
        return text if self.values else text.partition(ev.PRINTED)[0]

    def _executor_lost(self, at_s: float, event: ev.ExecutorLost, out: list[Record]) -> None:
        out.append(rec.ExecutorGone(at_s, event.executor, self._reason(event.reason), event.output))

    def _start_failed(self, at_s: float, event: ev.StartFailed, out: list[Record]) -> None:
        if self.full:
            fields = {**event._asdict(), "reason": self._reason(event.reason)}
            out.append(Told(at_s, type(event).__name__, fields))

    def _started(self, at_s: float, command: do.LaunchTask, out: list[Record]) -> None:
        divided = command.divided
        out.append(
            rec.TaskStarted(
                at_s,
                command.attempt,
                command.executor,
                command.stage,
                command.partitions,
                command.number,
                command.job,
                [self._snapshot(each) for each in command.inputs] if command.inputs else (),
                len(command.blocks),
                sum(len(each.segments) for each in command.prefetched),
                None if divided is None else {**divided._asdict(), "blocks": len(divided.blocks)},
            )
        )

    def _snapshot(self, snapshot: Snapshot) -> dict[str, int]:
        key = snapshot.shuffle, snapshot.epoch
        found = self.snapshots.get(key)
        if found is None:
            if len(self.snapshots) >= MOST_SNAPSHOTS:
                del self.snapshots[next(iter(self.snapshots))]
            found = self.snapshots[key] = {
                "shuffle": snapshot.shuffle,
                "epoch": snapshot.epoch,
                "outputs": len(snapshot.refs),
                "bytes": sum(ref.length for ref in snapshot.refs),
            }
        return found

    def _succeeded(self, at_s: float, event: ev.TaskSucceeded, out: list[Record]) -> None:
        result_bytes = written_bytes = 0
        made = []
        traced: tuple[str, ...] = ()
        for each in event.made:
            result, output = each.result, each.output
            size = 0
            if result is not None:
                size = bytes_of(result)
                result_bytes += size
            if output is not None:
                size = output.length
                written_bytes += size
            made.append(size)
            traced += each.traced
        end = event.attempt, rec.SUCCEEDED, made, result_bytes, written_bytes
        self._ended(at_s, end, event.kept, event.metrics, out, traced)

    def _succeeded_briefly(self, at_s: float, event: ev.TaskSucceeded, out: list[Record]) -> None:
        traced = [line for each in event.made for line in each.traced]
        out.append(rec.TaskEnded(at_s, event.attempt, rec.SUCCEEDED, traced=traced))

    def _raised(self, at_s: float, event: ev.TaskRaised, out: list[Record]) -> None:
        failure = event.failure
        texts = (
            (failure.message, failure.traceback)
            if self.values
            else (failure.told or failure.kind, failure.places)
        )
        out.append(rec.TaskError(at_s, event.attempt, failure.kind, *texts))
        self._ended(at_s, (event.attempt, rec.RAISED, (), 0, 0), event.kept, event.metrics, out)

    def _cancelled(self, at_s: float, event: ev.TaskCancelled, out: list[Record]) -> None:
        self._ended(at_s, (event.attempt, rec.CANCELLED, (), 0, 0), event.kept, event.metrics, out)

    def _fetch_failed(self, at_s: float, event: ev.FetchFailed, out: list[Record]) -> None:
        lost = [index for index, _ in event.lost]
        out.append(
            rec.TaskError(
                at_s, event.attempt, "FetchFailed", event.message, "", event.shuffle, lost
            )
        )
        self._ended(
            at_s, (event.attempt, rec.FETCH_FAILED, (), 0, 0), event.kept, event.metrics, out
        )

    def _ended(
        self,
        at_s: float,
        end: EndOfTask,
        kept: KeptNews,
        metrics: TaskMetrics,
        out: list[Record],
        traced: tuple[str, ...] = (),
    ) -> None:
        found = NOT_FOUND
        if kept is not NO_NEWS and kept != NO_NEWS:
            found = kept.found
            if self.full and (kept.stored or kept.dropped or kept.computed or kept.spilled_bytes):
                out.append(
                    rec.PartitionsKept(
                        at_s,
                        end[0],
                        [stored_told(each) for each in kept.stored],
                        [partition_told(each) for each in kept.dropped],
                        [partition_told(each) for each in kept.computed],
                        kept.spilled_bytes,
                    )
                )
        if metrics.samples and self.full:
            out.append(rec.TaskSampled(at_s, end[0], dict(metrics.samples)))
        out.append(rec.TaskEnded._make((at_s, *end, *metrics[:-1], *found, traced)))

    def _delivered(self, at_s: float, command: do.DeliverResult, out: list[Record]) -> None:
        size = 0 if command.result is None else bytes_of(command.result)
        out.append(rec.ResultDelivered(at_s, command.job, command.partition, size))


def bytes_of(result: bytes | tuple[BlockRef, ...]) -> int:
    return len(result) if isinstance(result, bytes) else sum(ref.length for ref in result)


def stored_told(stored: ev.Stored) -> dict[str, Any]:
    blocks = [block_told(ref) for ref in stored.blocks]
    return {**partition_told(stored.partition), "bytes": stored.bytes, "blocks": blocks}


def partition_told(partition: Partition) -> dict[str, Any]:
    return {"rdd": partition.rdd, "partition": partition.index}


def block_told(ref: BlockRef) -> dict[str, Any]:
    return {
        "node": ref.node,
        "segment": ref.segment,
        "offset": ref.offset,
        "bytes": ref.length,
        "medium": ref.medium,
    }
