"""How many bytes each partition of a stage reads, as far as that is known before it runs. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyrite.ids import RddId, ShuffleId
from pyrite.plan.program import PlanStep, Program, ShuffleInput
from pyrite.rdd.dependency import Same
from pyrite.rdd.op import Op

# By partition.
Sizes = Sequence[int]
# The sizes of files, or of rows that the driver holds, by the place of the step that reads them.
SourceSizes = Mapping[int, Sizes]
# With more partitions in all of a stage's steps, adding up costs more than good placement saves.
MOST_POSITIONS = 100_000


def source_sizes(program: Program) -> dict[int, Sizes]:
    """Returns the sizes of what the program's sources read, where they know all of them."""
    found: dict[int, Sizes] = {}
    for place, step in enumerate(program.steps):
        op = program.ops(place)[0]
        if type(op).partition_bytes is not Op.partition_bytes:
            sizes = [op.partition_bytes(index) for index in range(step.partitions)]
            known = tuple(size for size in sizes if size is not None)
            if len(known) == len(sizes):
                found[place] = known
    return found


def input_sizes(
    steps: Sequence[PlanStep],
    sources: SourceSizes,
    kept: Callable[[RddId, int], Mapping[int, int] | None],
    shuffles: Mapping[ShuffleId, Sizes],
) -> Sizes | None:
    """Returns how much each partition of the last step reads; None where it is not known of all.

    `kept` gives the sizes of an RDD of so many partitions if it is kept completely: while a stage
    keeps what it computes, only finished tasks would find it.
    """
    if sum(step.partitions for step in steps) > MOST_POSITIONS:
        return None
    found: list[Sizes | None] = []
    for place, step in enumerate(steps):
        by_index = None if step.rdd is None else kept(step.rdd, step.partitions)
        if by_index is not None:
            found.append([by_index[index] for index in range(step.partitions)])
        else:
            found.append(_read_by(step, sources.get(place), found, shuffles))
    return found[-1]


def _read_by(
    step: PlanStep,
    source: Sizes | None,
    found: Sequence[Sizes | None],
    shuffles: Mapping[ShuffleId, Sizes],
) -> Sizes | None:
    """Returns the sizes of a step's own input and of its parents' together."""
    if not step.inputs:
        return source
    parts: list[Sizes] = []
    for each in step.inputs:
        sizes = shuffles.get(each.shuffle) if isinstance(each, ShuffleInput) else found[each.step]
        if sizes is None:
            return None
        if isinstance(each, ShuffleInput):
            parts.append(sizes)
        elif len(step.inputs) == 1 and source is None and isinstance(each.mapping, Same):
            return sizes
    return [
        (0 if source is None else source[index])
        + sum(size_of(sizes, index) for sizes in parts)
        + sum(size_of(found[place] or (), parent) for place, parent in step.parents(index))
        for index in range(step.partitions)
    ]


def size_of(sizes: Sizes, part: int) -> int:
    """Returns the size of a part; 0 where there are fewer."""
    return sizes[part] if part < len(sizes) else 0
