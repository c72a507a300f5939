"""The flat program of a stage, and what the scheduler reads off its shape."""

from pyrite.ids import Partition, RddId, ShuffleId
from pyrite.plan.program import NarrowInput, PlanStep, Shape, ShuffleInput
from pyrite.rdd.dependency import SAME, Groups, UnionSlice


def never(partition: Partition) -> bool:
    return False


def shape() -> Shape:
    """RDD 3 is a union of RDD 1 (two partitions over shuffle 7) and RDD 2 (three, over 8)."""
    return Shape(
        [
            PlanStep(RddId(1), (ShuffleInput(ShuffleId(7)),), 2),
            PlanStep(RddId(2), (ShuffleInput(ShuffleId(8)),), 3),
            PlanStep(
                RddId(3), (NarrowInput(0, UnionSlice(0, 2)), NarrowInput(1, UnionSlice(2, 3))), 5
            ),
        ]
    )


def test_all_shuffles_are_needed_when_nothing_is_kept() -> None:
    assert shape().needed_shuffles(lambda _: 0, ()) == (7, 8)


def test_a_wholly_kept_rdd_hides_what_lies_behind_it() -> None:
    assert shape().needed_shuffles({RddId(1): 2}.get, [RddId(1)]) == (8,)  # type: ignore[arg-type]
    assert set(shape().needed_shuffles({RddId(1): 1}.get, [RddId(1)])) == {7, 8}  # type: ignore[arg-type]


def test_kept_partitions_are_found_through_unions_and_groups() -> None:
    assert list(shape().kept_partitions(3, [RddId(2)], never)) == [Partition(RddId(2), 1)]
    assert list(shape().kept_partitions(0, [RddId(2)], never)) == []
    nodes = [
        *shape().steps,
        PlanStep(RddId(4), (NarrowInput(2, Groups([0, 2, 5])),), 2),
        PlanStep(RddId(5), (NarrowInput(3, SAME),), 2),
    ]
    found = set(Shape(nodes).kept_partitions(1, [RddId(2)], never))
    assert found == {Partition(RddId(2), index) for index in (0, 1, 2)}


def test_a_partition_that_is_there_hides_those_behind_it() -> None:
    first = Partition(RddId(3), 3)
    kept = [RddId(2), RddId(3)]
    assert list(shape().kept_partitions(3, kept, {first}.__contains__)) == [first]
    assert list(shape().kept_partitions(3, kept, never)) == [first, Partition(RddId(2), 1)]


def test_parts_of_shuffles_are_found_unless_kept_rows_hide_them() -> None:
    assert list(shape().shuffle_parts(1, (), never)) == [(7, 1)]
    assert list(shape().shuffle_parts(3, (), never)) == [(8, 1)]
    kept = Partition(RddId(2), 1)
    assert list(shape().shuffle_parts(3, [RddId(2)], {kept}.__contains__)) == []
    assert list(shape().shuffle_parts(4, [RddId(2)], {kept}.__contains__)) == [(8, 2)]
