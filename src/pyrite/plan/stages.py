"""Stages, cut from the lineage at its shuffles."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyrite.ids import JobId, RddId, ShuffleId, StageId
from pyrite.place.predict import Sample
from pyrite.plan.dividing import Divisible, divide
from pyrite.plan.program import Program, Shape, flatten
from pyrite.rdd.dependency import ShuffleDependency
from pyrite.rdd.frozen import Frozen
from pyrite.rdd.partitioner import Routing

if TYPE_CHECKING:
    from pyrite.rdd.base import Lineage


@dataclass(frozen=True, eq=False, slots=True)
class StageSpec:
    """A stage as the scheduler knows it; the functions travel apart from it."""

    id: StageId
    name: str
    partitions: int
    shape: Shape
    parents: dict[ShuffleId, StageSpec]
    writes: ShuffleId | None = None
    barrier: bool = False
    # Whether a map output that is made again has the same rows for each reducer.
    replayable: bool = True
    # By what the rows that it writes are sent to reducers.
    routing: Routing | None = None
    # How the rows of each partition fall to the reducers, where the ranges were cut by a sample.
    samples: tuple[Sample, ...] | None = None
    # What of a heavy reducer's work can be done by several tasks.
    divisible: Divisible | None = None

    def __repr__(self) -> str:
        return f"StageSpec({self.id}, {self.name!r}, {self.partitions} partitions)"


@dataclass(frozen=True, eq=False, slots=True)
class JobSpec:
    """A job: the stage that gives its results, which partitions, and under which flags."""

    id: JobId
    stage: StageSpec
    partitions: tuple[int, ...]
    group: str | None = None
    tags: frozenset[str] = frozenset()
    pool: str = "default"
    description: str = ""


class Cut:
    """The stage that writes a shuffle, with its program.

    It is stale once an RDD in it, or behind it, has been replaced by what was written of it.
    """

    __slots__ = ("__weakref__", "program", "stage", "stale")

    def __init__(self, stage: StageSpec, program: Program) -> None:
        self.stage = stage
        self.program = program
        self.stale = False


class StageCutter:
    """Makes stages from RDDs; each shuffle's stage is made once and remembered with it."""

    def __init__(
        self,
        new_id: Callable[[], StageId],
        prepare: Callable[[StageSpec, Program, ShuffleDependency], Cut],
    ) -> None:
        self.new_id = new_id
        self.prepare = prepare

    def result_stage(self, rdd: Lineage[Any], frozen: Frozen) -> tuple[StageSpec, Program]:
        """The last stage of a job on an RDD, as it was frozen for it, with its ancestors."""
        program, shuffles = flatten(frozen)
        self.cut_missing(shuffles.values())
        return self.spec(rdd, program, shuffles), program

    def cut_missing(self, wanted: Any) -> None:
        """Makes the stages of these shuffles and of all shuffles behind them, parents first."""
        pending: list[tuple[ShuffleDependency, Any]] = [(each, None) for each in wanted]
        while pending:
            dependency, flat = pending.pop()
            if not needs_cut(dependency):
                continue
            if flat is None:
                flat = flatten(dependency.frozen)
                pending.append((dependency, flat))
                pending.extend((each, None) for each in flat[1].values() if needs_cut(each))
                continue
            program, shuffles = flat
            stage = self.spec(dependency.rdd, program, shuffles, dependency)
            dependency.cut = self.prepare(stage, program, dependency)

    def spec(
        self,
        rdd: Lineage[Any],
        program: Program,
        shuffles: Any,
        writes: ShuffleDependency | None = None,
    ) -> StageSpec:
        # Before its shape is told: it may cut a node in two.
        divisible = divide(program)
        return StageSpec(
            id=self.new_id(),
            name=f"{rdd._name or rdd._method} at {rdd._site}",
            partitions=rdd.getNumPartitions(),
            shape=Shape(program.steps),
            parents={shuffle: each.cut.stage for shuffle, each in shuffles.items()},
            writes=None if writes is None else writes.shuffle,
            barrier=program.barrier,
            replayable=writes is None
            or not writes.router.by_place
            or not any(op.order_varies for each in program.pipelines for op in each.ops),
            routing=None if writes is None else writes.router.kind,
            samples=None if writes is None else samples_of_maps(writes),
            divisible=divisible,
        )


def samples_of_maps(dependency: ShuffleDependency) -> tuple[Sample, ...] | None:
    """One sample for each map task of a shuffle, if its rows were sampled as they are now."""
    rdd = dependency.rdd
    samples = dependency.router.samples(rdd._id, dependency.partitions)
    # A checkpoint may have other partitions than the RDD that was sampled.
    return samples if samples and len(samples) == rdd.getNumPartitions() else None


def needs_cut(dependency: ShuffleDependency) -> bool:
    return dependency.cut is None or dependency.cut.stale


def new_stages(last: StageSpec, known: Container[StageId]) -> list[StageSpec]:
    """The stage and those behind it that are not known, parents first.

    Whoever knows a stage knows those behind it.
    """
    found: dict[StageId, StageSpec] = {}
    pending = [last]
    while pending:
        stage = pending.pop()
        if stage.id not in known and stage.id not in found:
            found[stage.id] = stage
            pending.extend(stage.parents.values())
    return [found[id] for id in sorted(found)]


def stale_stages(stages: Iterable[StageSpec], rdd: RddId) -> set[StageId]:
    """The stages that compute the RDD themselves, and those behind them."""
    stale: set[StageId] = set()
    # Stages are numbered parents first.
    for stage in sorted(stages, key=lambda each: each.id):
        if rdd in stage.shape.rdds or any(each.id in stale for each in stage.parents.values()):
            stale.add(stage.id)
    return stale
