"""Runs a simulation from the first job to the last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyrite.cluster.port import drive
from pyrite.forecast.costed import CostedCluster, Failures
from pyrite.forecast.costs import CostModel, NodeKind
from pyrite.forecast.tally import Tally
from pyrite.forecast.workload import JobModel, Workload
from pyrite.schedule.commands import FinishJob, ForDesk
from pyrite.schedule.events import JobSubmitted
from pyrite.schedule.rules import Rules
from pyrite.schedule.scheduler import Scheduler
from pyrite.schedule.story import Listener, Story

HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a simulated run: its duration, totals and errors."""

    seconds: float
    executors: int
    network_bytes: float
    tally: Tally
    errors: tuple[Exception, ...]

    @property
    def utilisation(self) -> float:
        """The fraction of the executors' time in which they had a task."""
        whole_s = self.seconds * self.executors
        return self.tally.busy_s / whole_s if whole_s else 0.0


class UserProgram:
    """The user's program: submits each job when its predecessors have ended."""

    def __init__(self, cluster: CostedCluster, give_up_s: float) -> None:
        self.cluster = cluster
        self.specs = cluster.workload.job_specs()
        self.jobs = {job.id: job for job in cluster.workload.jobs}
        self.waiting = {job.id: len(job.after) for job in cluster.workload.jobs}
        self.followers: dict[int, list[JobModel]] = {}
        for job in self.jobs.values():
            for each in job.after:
                self.followers.setdefault(each, []).append(job)
        self.unfinished = len(self.jobs)
        self.errors: list[Exception] = []
        self.ended_s = 0.0
        cluster.timeline.at(give_up_s, self._give_up, give_up_s)

    def begin(self) -> None:
        if not self.jobs:
            self.cluster.close()
        for job in self.jobs.values():
            if not job.after:
                self.cluster.timeline.after(job.gap_s, self._submit, job)

    def _submit(self, job: JobModel) -> None:
        for event in job.before:
            self.cluster.post(event)
        self.cluster.post(JobSubmitted(self.specs[job.id]))

    def perform(self, command: ForDesk) -> None:
        """Handles the end of a job; results do not matter here."""
        if not isinstance(command, FinishJob):
            return
        self.ended_s = self.cluster.now_s()
        self.unfinished -= 1
        if command.error is not None:
            self.errors.append(command.error)
        if not self.unfinished:
            self.cluster.close()
        for job in self.followers.get(command.job, ()):
            self.waiting[job.id] -= 1
            if not self.waiting[job.id]:
                self.cluster.timeline.after(job.gap_s, self._submit, job)

    def _give_up(self, after_s: float) -> None:
        self.errors.append(
            TimeoutError(f"{self.unfinished} jobs had not ended after {after_s / HOUR_S:.0f} hours")
        )
        self.ended_s = after_s
        self.cluster.close()


def simulate(
    workload: Workload,
    kinds: Sequence[NodeKind],
    model: CostModel,
    *,
    failures: Failures | None = None,
    seed: int = 0,
    scheduler: Scheduler | None = None,
    give_up_s: float = 1000 * HOUR_S,
    listeners: Sequence[Listener] = (),
    prepare: Callable[[CostedCluster], None] | None = None,
) -> Outcome:
    """Runs the jobs on a cluster of these nodes, in virtual time, with the real scheduler.

    `prepare` may plan further events of the cluster.
    """
    executors = sum(kind.cores for kind in kinds)
    cluster = CostedCluster(workload, kinds, model, failures, seed)
    program = UserProgram(cluster, give_up_s)
    story = Story()
    story.listeners += listeners
    if prepare is not None:
        prepare(cluster)
    # As in a real run, executors join before the program's first job.
    cluster.timeline.after(0.0, program.begin)
    drive(scheduler or Scheduler(Rules()), cluster, program, story)
    return Outcome(
        program.ended_s,
        executors,
        cluster.network.sent_bytes,
        cluster.tally,
        tuple(program.errors),
    )
