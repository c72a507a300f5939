"""Stages: the lineage, cut at its shuffles."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyrite.ids import JobId, NamespaceId, RddId, ShuffleId, StageId
from pyrite.place.predict import Sample
from pyrite.plan.dividing import Divisible, divide
from pyrite.plan.inputsizes import SourceSizes, source_sizes
from pyrite.plan.program import Program, Shape, flatten
from pyrite.rdd.dependency import ShuffleDependency
from pyrite.rdd.frozen import Frozen
from pyrite.rdd.partitioner import Routing

if TYPE_CHECKING:
    from pyrite.rdd.base import Lineage


@dataclass(frozen=True, eq=False, slots=True)
class StageSpec:
    """A stage as the scheduler knows it; its functions are sent separately."""

    id: StageId
    name: str
    partitions: int
    shape: Shape
    parents: dict[ShuffleId, StageSpec]
    writes: ShuffleId | None = None
    barrier: bool = False
    # Whether a recomputed map output has the same rows for each reducer.
    replayable: bool = True
    # How the rows that it writes are routed to reducers.
    routing: Routing | None = None
    # Each partition's distribution over the reducers, where ranges were cut by a sample.
    samples: tuple[Sample, ...] | None = None
    # How much each partition reads of files or of the driver's rows, where it writes a shuffle.
    sources: SourceSizes = field(default_factory=dict)
    # Where heavy reducers can be divided, if they can be.
    divisible: Divisible | None = None
    # The collection whose partitions it computes, if its last RDD belongs to one.
    namespace: NamespaceId | None = None

    def __repr__(self) -> str:
        return f"StageSpec({self.id}, {self.name!r}, {self.partitions} partitions)"


@dataclass(frozen=True, eq=False, slots=True)
class JobSpec:
    """A job: the stage that computes its results, the partitions wanted, and its properties."""

    id: JobId
    stage: StageSpec
    partitions: tuple[int, ...]
    group: str | None = None
    tags: frozenset[str] = frozenset()
    pool: str = "default"
    description: str = ""
    # The method that the user called, and from where.
    action: str = ""
    site: str = ""


class Cut:
    """The stage that writes a shuffle, with its program.

    It is stale once an RDD in it, or in an ancestor, has been replaced by its checkpoint.
    """

    __slots__ = ("__weakref__", "program", "stage", "stale")

    def __init__(self, stage: StageSpec, program: Program) -> None:
        self.stage = stage
        self.program = program
        self.stale = False


class StageCutter:
    """Makes stages from RDDs; each shuffle's stage is made once and stored with the shuffle."""

    def __init__(
        self,
        new_id: Callable[[], StageId],
        prepare: Callable[[StageSpec, Program, ShuffleDependency], Cut],
    ) -> None:
        self.new_id = new_id
        self.prepare = prepare

    def result_stage(self, rdd: Lineage[Any], frozen: Frozen) -> tuple[StageSpec, Program]:
        """Returns the last stage of a job on a frozen RDD, after cutting its ancestors."""
        program, shuffles = flatten(frozen)
        self.cut_missing(shuffles.values())
        return self.spec(rdd, program, shuffles), program

    def cut_missing(self, wanted: Any) -> None:
        """Makes the stages of these shuffles and of all their ancestors, parents first."""
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
        # Before the shape is made: this may cut a step in two.
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
            sources={} if writes is None else source_sizes(program),
            divisible=divisible,
            namespace=rdd._namespace_id,
        )


def samples_of_maps(dependency: ShuffleDependency) -> tuple[Sample, ...] | None:
    """Returns one sample per map task of a shuffle, if the RDD was sampled in its present form."""
    rdd = dependency.rdd
    samples = dependency.router.samples(rdd, dependency.partitions)
    # A checkpoint may have other partitions than the RDD that was sampled.
    return samples if samples and len(samples) == rdd.getNumPartitions() else None


def needs_cut(dependency: ShuffleDependency) -> bool:
    return dependency.cut is None or dependency.cut.stale


def new_stages(last: StageSpec, known: Container[StageId]) -> list[StageSpec]:
    """Returns the stage and its ancestors that are not known, parents first.

    The ancestors of a known stage are known.
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
    """Returns the stages that compute the RDD, and all stages that descend from them."""
    stale: set[StageId] = set()
    # Stages are numbered parents first.
    for stage in sorted(stages, key=lambda each: each.id):
        if rdd in stage.shape.rdds or any(each.id in stale for each in stage.parents.values()):
            stale.add(stage.id)
    return stale
