"""The jobs that a run's program submitted, in their order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pyrite.forecast.workload import DriverEvent, JobModel


@dataclass(frozen=True, slots=True)
class SubmittedJob:
    """A job that ended, the partitions that it computed, and what was persisted before it."""

    id: int
    stage: int
    at_s: float
    ended_s: float
    partitions: tuple[int, ...]
    before: tuple[DriverEvent, ...]


def ordered(jobs: list[SubmittedJob]) -> Iterator[JobModel]:
    """Orders each job after those that had ended when it was submitted, with the gap between."""
    began_s = min(job.at_s for job in jobs)
    for job in jobs:
        ended = [each for each in jobs if each.ended_s <= job.at_s and each is not job]
        # A job that ended before another of these began is an indirect predecessor.
        latest_s = max((each.at_s for each in ended), default=0.0)
        after = [each for each in ended if each.ended_s > latest_s]
        since_s = max((each.ended_s for each in after), default=began_s)
        yield JobModel(
            job.id,
            job.stage,
            job.partitions,
            tuple(each.id for each in after),
            job.at_s - since_s,
            job.before,
        )
