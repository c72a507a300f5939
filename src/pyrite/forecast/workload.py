"""Jobs without rows: the costs of each task, and the stages for the scheduler."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp
from random import Random
from typing import NamedTuple

from pyrite.ids import JobId, NamespaceId, Partition, RddId, ShuffleId, StageId
from pyrite.plan.inputsizes import Sizes
from pyrite.plan.program import NarrowInput, PlanStep, Shape, ShuffleInput
from pyrite.plan.stages import JobSpec, StageSpec
from pyrite.rdd.dependency import SAME
from pyrite.schedule.events import (
    NamespaceDropped,
    NamespaceMade,
    RddForgotten,
    RddPersisted,
    RddReported,
    ShuffleForgotten,
)

# The events of the user's program besides its jobs.
DriverEvent = (
    RddPersisted | RddForgotten | RddReported | ShuffleForgotten | NamespaceMade | NamespaceDropped
)


@dataclass(frozen=True, slots=True)
class StageModel:
    """A stage with the costs of its tasks, one for each item of `cpu_s`.

    `cpu_s` is the work of the user and of the engine per row, without reading, decoding, encoding
    and writing. `writes` is the shuffle that the stage writes, `output_bytes` the sizes of its map
    outputs or results, and `shares` the fraction of a map output for each reducer.
    """

    id: int
    cpu_s: Sequence[float]
    name: str = ""
    parents: tuple[int, ...] = ()
    writes: int | None = None
    output_bytes: Sequence[float] = ()
    shares: Sequence[float] = ()
    input_bytes: Sequence[float] = ()
    # The keys of the blocks that tasks read, where their input lies on a ring of the nodes;
    # without keys it is on the disk of whoever runs the task.
    input_keys: Sequence[int | None] = ()
    steps: tuple[PlanStep, ...] = ()
    barrier: bool = False
    # The collection whose partitions it computes.
    namespace: int | None = None

    @property
    def tasks(self) -> int:
        return len(self.cpu_s)


@dataclass(frozen=True, slots=True)
class KeptModel:
    """A persisted RDD: the cost and the size of each partition, and where it is kept."""

    rdd: int
    making_s: Mapping[int, float]
    size_bytes: Mapping[int, float]
    # Live rows, encoded in the pool, or on disk.
    place: str = "live"


@dataclass(frozen=True, slots=True)
class JobModel:
    """A job that the user's program submits `gap_s` after the jobs in `after` have ended."""

    id: int
    stage: int
    partitions: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    gap_s: float = 0.0
    before: tuple[DriverEvent, ...] = ()


@dataclass(frozen=True, slots=True)
class Workload:
    """All jobs of one application."""

    stages: dict[int, StageModel]
    jobs: tuple[JobModel, ...]
    kept: dict[int, KeptModel] = field(default_factory=dict)
    # What the model could not know, for the user.
    notes: tuple[str, ...] = ()

    def specs(self) -> dict[int, StageSpec]:
        """The stages for the scheduler, parents first."""
        made: dict[int, StageSpec] = {}
        for model in sorted(self.stages.values(), key=lambda each: each.id):
            parents = [made[each] for each in model.parents]
            shuffles = {each.writes: each for each in parents if each.writes is not None}
            source = PlanStep(
                RddId(model.id),
                tuple(map(ShuffleInput, shuffles)),
                model.tasks,
                keys=tuple(model.input_keys),
            )
            steps = list(model.steps) or [source]
            made[model.id] = StageSpec(
                StageId(model.id),
                model.name or f"stage {model.id}",
                model.tasks,
                Shape(steps),
                shuffles,
                None if model.writes is None else ShuffleId(model.writes),
                model.barrier,
                sources=sources_of(model, steps),
                namespace=None if model.namespace is None else NamespaceId(model.namespace),
            )
        return made

    def job_specs(self) -> dict[int, JobSpec]:
        specs = self.specs()
        return {
            job.id: JobSpec(
                JobId(job.id),
                specs[job.stage],
                job.partitions or tuple(range(specs[job.stage].partitions)),
            )
            for job in self.jobs
        }


def sources_of(model: StageModel, steps: Sequence[PlanStep]) -> dict[int, Sizes]:
    """The sizes of the stage's own input, if one of its steps reads it."""
    places = [place for place, step in enumerate(steps) if not step.inputs or len(steps) == 1]
    if not model.input_bytes or len(places) != 1 or steps[places[0]].partitions != model.tasks:
        return {}
    return {places[0]: tuple(map(round, model.input_bytes))}


class Reads(NamedTuple):
    """What one task reads: kept partitions, those to compute first, and parts of shuffles."""

    found: list[Partition]
    missing: list[Partition]
    parts: list[tuple[ShuffleId, int]]


def reads_of(
    shape: Shape, index: int, kept: Mapping[RddId, object], has: Callable[[Partition], bool]
) -> Reads:
    """Walks the stage's RDDs from the last one down to kept rows and shuffles."""
    reads = Reads([], [], [])
    pending = [(len(shape.steps) - 1, index)]
    seen: dict[tuple[int, int], None] = {}
    while pending:
        place = pending.pop()
        if place in seen:
            continue
        seen[place] = None
        step, position = shape.steps[place[0]], place[1]
        if step.rdd is not None and step.rdd in kept:
            partition = Partition(step.rdd, position)
            if has(partition):
                reads.found.append(partition)
                continue
            reads.missing.append(partition)
        for each in step.inputs:
            if isinstance(each, ShuffleInput):
                reads.parts.append((each.shuffle, position))
            else:
                pending.extend((each.step, parent) for parent in each.mapping.parents(position))
    return reads


def scaled(workload: Workload, factor: int) -> Workload:
    """The same jobs on `factor` times the data: with as many times the tasks, each as long.

    Partitions read the partition of the same index of each parent, also in a union or a coalesce.
    """
    if factor == 1:
        return workload
    stages = {id: scaled_stage(each, factor) for id, each in workload.stages.items()}
    jobs = [scaled_job(job, factor, workload.stages[job.stage]) for job in workload.jobs]
    return replace(workload, stages=stages, jobs=tuple(jobs), kept={
        rdd: replace(
            kept,
            making_s=repeated(kept.making_s, factor),
            size_bytes=repeated(kept.size_bytes, factor),
        )
        for rdd, kept in workload.kept.items()
    })  # fmt: skip


def scaled_job(job: JobModel, factor: int, last: StageModel) -> JobModel:
    before = tuple(
        each._replace(partitions=each.partitions * factor, groups=each.groups * factor)
        if isinstance(each, NamespaceMade)
        else each
        for each in job.before
    )
    partitions = () if len(job.partitions) == last.tasks else job.partitions
    return replace(job, partitions=partitions, before=before)


def scaled_stage(stage: StageModel, factor: int) -> StageModel:
    steps = [
        PlanStep(
            step.rdd,
            tuple(
                NarrowInput(each.step, SAME) if isinstance(each, NarrowInput) else each
                for each in step.inputs
            ),
            step.partitions * factor,
            keys=step.keys * factor,
        )
        for step in stage.steps
    ]
    return replace(
        stage,
        cpu_s=list(stage.cpu_s) * factor,
        output_bytes=list(stage.output_bytes) * factor,
        input_bytes=list(stage.input_bytes) * factor,
        input_keys=list(stage.input_keys) * factor,
        shares=[share / factor for share in stage.shares] * factor,
        steps=tuple(steps),
    )


def repeated(by_index: Mapping[int, float], factor: int) -> dict[int, float]:
    """Repeats the values of partitions 0 to n - 1 for each further n."""
    step = max(by_index, default=0) + 1
    return {
        index + step * turn: value for turn in range(factor) for index, value in by_index.items()
    }


def uneven(count: int, mean: float, sigma: float, seed: int) -> list[float]:
    """Values around a mean with a long tail: log-normal, all equal if sigma is 0.

    >>> uneven(3, 2.0, 0.0, seed=1)
    [2.0, 2.0, 2.0]
    """
    random = Random(seed)
    # The median of a log-normal is lower than its mean by this factor.
    middle = mean * exp(-sigma * sigma / 2)
    return [middle * random.lognormvariate(0.0, sigma) for _ in range(count)]


def zipf_shares(count: int, exponent: float) -> list[float]:
    """Fractions that fall with their rank, as those of skewed keys.

    >>> zipf_shares(2, 1.0)
    [0.6666666666666666, 0.3333333333333333]
    """
    weights = [1 / (rank + 1) ** exponent for rank in range(count)]
    total = sum(weights)
    return [weight / total for weight in weights]


def two_stages(
    map_s: Sequence[float],
    reduce_s: Sequence[float],
    output_bytes: float,
    shares: Sequence[float] = (),
) -> Workload:
    """The simplest job with a shuffle: all map tasks write equally much."""
    outputs = [output_bytes] * len(map_s)
    dealt = shares or [1 / len(reduce_s)] * len(reduce_s)
    first = StageModel(0, map_s, "maps", writes=0, output_bytes=outputs, shares=dealt)
    second = StageModel(1, reduce_s, "reduces", parents=(0,))
    return Workload({0: first, 1: second}, (JobModel(0, 1),))
