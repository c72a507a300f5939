"""A scheduler to talk with: small jobs, and short words for events and commands."""

from __future__ import annotations

from typing import Any

from pyrite.ids import (
    AttemptId,
    BlockRef,
    ExecutorId,
    JobId,
    NodeId,
    Partition,
    RddId,
    ShuffleId,
    StageId,
)
from pyrite.plan.program import NarrowInput, PlanStep, Shape, ShuffleInput
from pyrite.plan.stages import JobSpec, StageSpec
from pyrite.rdd.dependency import SAME
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.rules import Rules
from pyrite.schedule.scheduler import Scheduler

NODE = NodeId("node-0")


def map_stage(id: int, partitions: int, *parents: StageSpec) -> StageSpec:
    """A stage that writes shuffle number `id`, over a source or over its parents' shuffles."""
    return _stage(id, partitions, parents, writes=ShuffleId(id))


def result_stage(id: int, partitions: int, *parents: StageSpec, barrier: bool = False) -> StageSpec:
    return _stage(id, partitions, parents, writes=None, barrier=barrier)


def _stage(
    id: int,
    partitions: int,
    parents: tuple[StageSpec, ...],
    writes: ShuffleId | None,
    barrier: bool = False,
) -> StageSpec:
    # Two RDDs: one that reads the shuffles, numbered 10 * id, and a map of it, 10 * id + 1.
    shuffles = {parent.writes: parent for parent in parents if parent.writes is not None}
    first = PlanStep(RddId(10 * id), tuple(ShuffleInput(each) for each in shuffles), partitions)
    second = PlanStep(RddId(10 * id + 1), (NarrowInput(0, SAME),), partitions)
    shape = Shape([first, second])
    return StageSpec(StageId(id), f"stage {id}", partitions, shape, shuffles, writes, barrier)


class Talk:
    """Tells a scheduler events and keeps what it answers; invariants hold after each."""

    def __init__(self, executors: int = 2, pool_bytes: int = 1 << 30, **rules: Any) -> None:
        self.scheduler = Scheduler(Rules(**rules))
        self.now_s = 0.0
        self.running: dict[AttemptId, do.LaunchTask] = {}
        self.log: list[do.Command] = []
        if executors or not rules.get("allocation"):
            self.tell(ev.NodeJoined(NODE, pool_bytes))
        for id in range(executors):
            self.tell(ev.ExecutorJoined(ExecutorId(id), NODE))

    def tell(self, event: ev.Event, at_s: float | None = None) -> list[do.Command]:
        self.now_s = self.now_s + 1.0 if at_s is None else at_s
        answer = self.scheduler.handle(event, self.now_s)
        self.scheduler.check()
        self.log += answer
        for command in answer:
            if isinstance(command, do.LaunchTask):
                self.running[command.attempt] = command
        return answer

    def submit(self, stage: StageSpec, id: int = 0, **flags: Any) -> list[do.Command]:
        partitions = flags.pop("partitions", tuple(range(stage.partitions)))
        return self.tell(ev.JobSubmitted(JobSpec(JobId(id), stage, partitions, **flags)))

    def succeed(
        self, attempt: int, accumulators: bytes | None = None, **news: Any
    ) -> list[do.Command]:
        launched = self.running.pop(AttemptId(attempt))
        run = self.scheduler.stages._runs.get(launched.stage)
        writes = run is not None and run.spec.writes is not None
        result = None if writes else b"r"
        places = range(len(launched.partitions))
        outputs = [BlockRef(NODE, f"made-{attempt}", 10 * place, 10, "disk") for place in places]
        made = [
            ev.TaskOutput(result, output if writes else None, accumulators) for output in outputs
        ]
        return self.tell(ev.TaskSucceeded(AttemptId(attempt), tuple(made), **news))

    def fail(self, attempt: int, message: str = "ValueError: bad") -> list[do.Command]:
        del self.running[AttemptId(attempt)]
        return self.tell(ev.TaskRaised(AttemptId(attempt), ev.Failure("ValueError", message)))

    def lose(self, executor: int) -> list[do.Command]:
        for attempt in [a for a, each in self.running.items() if each.executor == executor]:
            del self.running[attempt]
        return self.tell(ev.ExecutorLost(ExecutorId(executor), "killed by SIGKILL"))

    def succeed_all(self) -> None:
        """Lets everything that runs, and all that follows, succeed."""
        while self.running:
            self.succeed(next(iter(self.running)))

    def ended(self) -> dict[int, Exception | None]:
        return {each.job: each.error for each in self.log if isinstance(each, do.FinishJob)}


def launched(answer: list[do.Command]) -> list[tuple[int, int, int]]:
    """The launches as (stage, partition, executor)."""
    return [(c.stage, c.partitions[0], c.executor) for c in answer if isinstance(c, do.LaunchTask)]


def stored(rdd: int, index: int, ref: BlockRef | None = None) -> ev.KeptNews:
    """News of one partition that is kept: as a block, or as live rows."""
    size = 100 if ref is None else ref.length
    blocks = () if ref is None else (ref,)
    return ev.KeptNews((ev.Stored(Partition(RddId(rdd), index), blocks, size),))


def of_type(answer: list[do.Command], kind: type) -> list[Any]:
    return [each for each in answer if isinstance(each, kind)]
