"""The narrow part of a stage, flattened: what an executor runs and what the scheduler inspects.

RDDs refer to each other through thousands of steps; a flat list with indices can be pickled, walked
and freed without recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from pyrite.ids import Partition, RddId, ShuffleId
from pyrite.rdd.dependency import Mapping as PartitionMapping
from pyrite.rdd.dependency import ShuffleDependency, UnionIndex
from pyrite.rdd.frozen import Frozen, FrozenInput, NamedCall
from pyrite.rdd.narrow import Union
from pyrite.rdd.op import Op, Sliced

# A task's slices of operators: by link, the operator's number in it, and partition.
Slices = dict[int, dict[int, dict[int, Any]]]


class NarrowInput(NamedTuple):
    """A parent within the same stage: its index in the list, and which partitions are read."""

    step: int
    mapping: PartitionMapping


class ShuffleInput(NamedTuple):
    """A shuffle that the stage reads."""

    shuffle: ShuffleId


StageInput = NarrowInput | ShuffleInput


class PlanStep(NamedTuple):
    """One RDD of the stage, or a pipeline of several; parents come before children.

    `rdd` is the last RDD if it can be kept; None where the pipeline was pickled for one job or
    child only, which would read another version of it.
    """

    rdd: RddId | None
    inputs: tuple[StageInput, ...]
    partitions: int
    # For a union, which has one input per parent: finds the input that a partition reads.
    union: UnionIndex | None = None
    # The preferred nodes of each partition, where the operator has any.
    locations: tuple[tuple[str, ...], ...] = ()
    # The key of what each partition reads, where the operator has keys.
    keys: tuple[int | None, ...] = ()

    def parents(self, position: int) -> Iterator[tuple[int, int]]:
        """Returns the steps of the stage, and their partitions, that a partition reads."""
        if self.union is not None:
            number, inner = self.union.find(position)
            only = self.inputs[number]
            assert isinstance(only, NarrowInput)
            yield only.step, inner
            return
        for each in self.inputs:
            if isinstance(each, NarrowInput):
                for parent in each.mapping.parents(position):
                    yield each.step, parent


class Shape:
    """The stage's RDDs without their functions: enough to place tasks and find parents."""

    def __init__(self, steps: list[PlanStep]) -> None:
        self.steps = steps
        self.partitions = {step.rdd: step.partitions for step in steps if step.rdd is not None}
        self.rdds = self.partitions.keys()
        self.has_locations = any(step.locations for step in steps)
        self.has_keys = any(step.keys for step in steps)
        self.shuffles = tuple(
            dict.fromkeys(
                each.shuffle
                for step in steps
                for each in step.inputs
                if isinstance(each, ShuffleInput)
            )
        )

    def needed_shuffles(
        self, count_kept: Callable[[RddId], int], kept: Collection[RddId]
    ) -> tuple[ShuffleId, ...]:
        """Returns the shuffles that must be complete; those behind completely kept RDDs are not
        needed."""
        if self.rdds.isdisjoint(kept):
            return self.shuffles
        found: dict[ShuffleId, None] = {}
        seen = set()
        pending = [len(self.steps) - 1]
        while pending:
            place = pending.pop()
            step = self.steps[place]
            if place in seen or (
                step.rdd is not None
                and step.rdd in kept
                and count_kept(step.rdd) == step.partitions
            ):
                continue
            seen.add(place)
            for each in step.inputs:
                if isinstance(each, ShuffleInput):
                    found[each.shuffle] = None
                else:
                    pending.append(each.step)
        return tuple(found)

    def shuffle_parts(
        self, index: int, kept: Collection[RddId], is_there: Callable[[Partition], bool]
    ) -> Iterator[tuple[ShuffleId, int]]:
        """Returns the parts of shuffles that the task for `index` reads; kept partitions make the
        parts behind them unnecessary."""
        pending = [(len(self.steps) - 1, index)]
        while pending:
            place, position = pending.pop()
            step = self.steps[place]
            if (
                step.rdd is not None
                and step.rdd in kept
                and is_there(Partition(step.rdd, position))
            ):
                continue
            if step.union is None:
                for each in step.inputs:
                    if isinstance(each, ShuffleInput):
                        yield each.shuffle, position
            pending.extend(step.parents(position))

    def preferred_locations(self, index: int) -> Iterator[str]:
        """Returns the nodes on which the task for `index` prefers to run, by what it reads."""
        pending = [(len(self.steps) - 1, index)]
        while pending:
            place, position = pending.pop()
            step = self.steps[place]
            if step.locations:
                yield from step.locations[position]
            pending.extend(step.parents(position))

    def key(self, index: int) -> int | None:
        """Returns the key of the first keyed partition that the task for `index` reads."""
        pending = [(len(self.steps) - 1, index)]
        while pending:
            place, position = pending.pop()
            step = self.steps[place]
            if step.keys and (key := step.keys[position]) is not None:
                return key
            pending.extend(step.parents(position))
        return None

    def kept_partitions(
        self, index: int, kept: Collection[RddId], is_there: Callable[[Partition], bool]
    ) -> Iterator[Partition]:
        """Returns the partitions of kept RDDs that the task for `index` looks up.

        It looks behind a partition that does not exist, and not behind one that does.
        """
        pending = [(len(self.steps) - 1, index)]
        while pending:
            place, position = pending.pop()
            step = self.steps[place]
            if step.rdd is not None and step.rdd in kept:
                partition = Partition(step.rdd, position)
                yield partition
                if is_there(partition):
                    continue
            pending.extend(step.parents(position))


class OperatorRun(NamedTuple):
    """The operators that a step runs in sequence: a range of a link's operators."""

    link: int
    first: int
    end: int


class ProgramLayout(NamedTuple):
    """A program without its functions, which an executor loads once per stage."""

    steps: list[PlanStep]
    runs: list[OperatorRun]


class Program:
    """The program of a stage, as the driver holds it.

    Its links are pipelines that were pickled separately, parents first. The last link includes what
    is done with the stage's rows.
    """

    def __init__(
        self, steps: list[PlanStep], runs: list[OperatorRun], frozen: list[Frozen]
    ) -> None:
        self.steps = steps
        self.runs = runs
        self.links = [each.pickled for each in frozen]
        self.pipelines = [each.pipeline for each in frozen]
        self.broadcasts = [value for each in frozen for value in each.broadcasts]
        # A pickled profiler, which calls what the tasks do.
        self.profiler: bytes | None = None

    @cached_property
    def sliced(self) -> dict[int, list[tuple[int, int, Sliced]]]:
        """The operators that have a slice for each partition, by the step that runs them, with
        their link and their number in it."""
        found: dict[int, list[tuple[int, int, Sliced]]] = {}
        for place, (link, first, _) in enumerate(self.runs):
            for number, op in enumerate(self.ops(place), first):
                if isinstance(op, Sliced):
                    found.setdefault(place, []).append((link, number, op))
        return found

    @property
    def layout(self) -> ProgramLayout:
        return ProgramLayout(self.steps, self.runs)

    @property
    def barrier(self) -> bool:
        return any(each.barrier for each in self.pipelines)

    def ops(self, place: int) -> tuple[Op, ...]:
        """The operators of a step."""
        link, first, end = self.runs[place]
        return self.pipelines[link].ops[first:end]

    def calls(self, place: int) -> tuple[NamedCall, ...]:
        """The calls that made the operators of a step, as far as they are known."""
        link, first, end = self.runs[place]
        return self.pipelines[link].calls[first:end]

    def slices(self, index: int) -> Slices:
        """Returns the slices that are sent with the task for `index`."""
        found: Slices = {}
        seen = set()
        pending = [(len(self.steps) - 1, index)]
        while pending:
            reached = pending.pop()
            if reached in seen:
                continue
            seen.add(reached)
            place, position = reached
            for link, number, op in self.sliced.get(place, ()):
                of_op = found.setdefault(link, {}).setdefault(number, {})
                of_op[position] = op.slices[position]
            pending.extend(self.steps[place].parents(position))
        return found


def flatten(last: Frozen) -> tuple[Program, dict[ShuffleId, ShuffleDependency]]:
    """Returns the program of the stage that ends with a pipeline, and the shuffles that it
    reads."""
    # By identity: a checkpoint replaces a frozen pipeline in place.
    places: dict[int, int] = {}
    steps: list[PlanStep] = []
    runs: list[OperatorRun] = []
    links: list[Frozen] = []
    shuffles: dict[ShuffleId, ShuffleDependency] = {}
    pending: list[tuple[Frozen, bool]] = [(last, False)]
    while pending:
        current, ready = pending.pop()
        if id(current) in places:
            continue
        ops, inputs, *_ = current.pipeline
        if not ready:
            pending.append((current, True))
            pending.extend((each.frozen, False) for each in inputs if isinstance(each, FrozenInput))
            continue
        places[id(current)] = len(steps)
        if ops:
            read: list[StageInput] = []
            for each in inputs:
                if isinstance(each, FrozenInput):
                    read.append(NarrowInput(places[id(each.frozen)], each.mapping))
                else:
                    shuffles[each.shuffle] = each
                    read.append(ShuffleInput(each.shuffle))
            union = ops[0].index if isinstance(ops[0], Union) else None
            partitions = count_of(current, steps, read)
            locations = preferred_locations(ops[0], partitions)
            keys = partition_keys(ops[0], partitions)
            steps.append(PlanStep(current.rdd, tuple(read), partitions, union, locations, keys))
            runs.append(OperatorRun(len(links), 0, len(ops)))
        links.append(current)
    return Program(steps, runs, links), shuffles


def count_of(frozen: Frozen, steps: list[PlanStep], inputs: list[StageInput]) -> int:
    """Returns a pipeline's number of partitions: its first operator's, or else its parent's."""
    count = frozen.pipeline.ops[0].partitions()
    if count is not None:
        return count
    first, read = frozen.pipeline.inputs[0], inputs[0]
    if isinstance(first, ShuffleDependency):
        return first.partitions
    assert isinstance(read, NarrowInput)
    return steps[read.step].partitions


def preferred_locations(op: Op, partitions: int) -> tuple[tuple[str, ...], ...]:
    """Returns the operator's preferred nodes by partition; empty where it never has any."""
    if type(op).preferred_locations is Op.preferred_locations:
        return ()
    return tuple(tuple(op.preferred_locations(index)) for index in range(partitions))


def partition_keys(op: Op, partitions: int) -> tuple[int | None, ...]:
    """Returns the key of what each partition reads; empty where none has one."""
    if type(op).partition_key is Op.partition_key:
        return ()
    keys = tuple(op.partition_key(index) for index in range(partitions))
    return keys if any(key is not None for key in keys) else ()
