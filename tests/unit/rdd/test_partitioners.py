"""Public partitioners, Z order, and the namespaces that have them."""

import pickle
import re
import threading
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain import PlainContext, count_shuffles

from pyrite import ExtendablePartitioner, HashPartitioner, StaticRangePartitioner, zOrder
from pyrite.errors import UserError
from pyrite.hashing import portable_hash
from pyrite.rdd.partitioner import Partitioner

ALL = [
    HashPartitioner(8),
    StaticRangePartitioner([10, 20, 30]),
    ExtendablePartitioner(HashPartitioner(8), 4),
    ExtendablePartitioner(StaticRangePartitioner([10, 20, 30]), 2),
]


@pytest.mark.parametrize("partitioner", ALL, ids=repr)
def test_they_are_equal_by_value_after_a_journey(partitioner: Partitioner) -> None:
    arrived = pickle.loads(pickle.dumps(partitioner))
    assert arrived == partitioner and hash(arrived) == hash(partitioner)
    assert [arrived(key) for key in range(50)] == [partitioner(key) for key in range(50)]
    assert repr(arrived) == repr(partitioner)


def test_different_ones_differ() -> None:
    others = [
        HashPartitioner(7),
        StaticRangePartitioner([10, 20, 31]),
        ExtendablePartitioner(HashPartitioner(8), 2),
    ]
    every = [*ALL, *others]
    assert [pair for pair in permutations(every, 2) if pair[0] == pair[1]] == []


def test_groups_do_not_change_where_keys_go() -> None:
    plain = Partitioner(8, portable_hash)
    assert HashPartitioner(8) == plain
    assert ExtendablePartitioner(HashPartitioner(8), 4).places_like(plain)
    assert not plain.places_like(HashPartitioner(4)) and not plain.places_like(None)


def test_wrong_ones_are_refused() -> None:
    for make in (
        lambda: HashPartitioner(0),
        lambda: StaticRangePartitioner([3, 1]),
        lambda: ExtendablePartitioner(HashPartitioner(2), 3),
        lambda: ExtendablePartitioner(HashPartitioner(2), 0),
    ):
        with pytest.raises(ValueError):
            make()
    for wrong in (HashPartitioner, lambda count: ExtendablePartitioner(count, 1)):
        with pytest.raises(TypeError):
            wrong("2")


def test_ranges_are_cut_by_a_sample(sc: PlainContext) -> None:
    pairs = sc.parallelize([(key, None) for key in range(1000)], 3)
    ranges = StaticRangePartitioner.sampled(pairs, 4)
    counts = [0] * ranges.numPartitions
    for key in range(1000):
        counts[ranges(key)] += 1
    assert len(counts) == 4 and min(counts) > 100
    with pytest.raises(UserError, match="no rows"):
        StaticRangePartitioner.sampled(sc.parallelize([], 2), 4)


@given(st.integers(0, 65535), st.integers(0, 65535))
def test_z_order_interleaves_the_bits(x: int, y: int) -> None:
    key = zOrder(x + 0.5, y + 0.5, (0, 0, 65536, 65536))
    assert [key >> 2 * bit & 1 for bit in range(16)] == [x >> bit & 1 for bit in range(16)]
    assert [key >> 2 * bit + 1 & 1 for bit in range(16)] == [y >> bit & 1 for bit in range(16)]


def test_z_order_refuses_points_outside() -> None:
    box = (-1.0, -1.0, 1.0, 1.0)
    assert zOrder(1.0, 1.0, box, bits=3) == 63 and zOrder(-1.0, -1.0, box, bits=3) == 0
    for x, y in ((1.1, 0.0), (0.0, -1.1), (float("nan"), 0.0)):
        with pytest.raises(ValueError, match="outside"):
            zOrder(x, y, box)
    for wrong in (lambda: zOrder(0, 0, (0, 0, 0, 1)), lambda: zOrder(0, 0, box, bits=0)):
        with pytest.raises(ValueError):
            wrong()


class TestNamespaces:
    def test_another_partitioner_is_refused_with_both_and_the_line(self, sc: PlainContext) -> None:
        pairs = sc.parallelize([(1, 1)])
        pairs.localityPartitionBy(HashPartitioner(2), "hours")
        with pytest.raises(UserError) as caught:
            pairs.localityPartitionBy(HashPartitioner(3), "hours")
        for told in ("'hours'", "HashPartitioner(2)", "HashPartitioner(3)"):
            assert told in str(caught.value)
        assert re.search(r"since \S+\.py:\d+, in ", str(caught.value))

    def test_a_dropped_name_may_be_used_again(self, sc: PlainContext) -> None:
        pairs = sc.parallelize([(1, 1)])
        old = pairs.localityPartitionBy(HashPartitioner(2), "hours")
        sc.dropNamespace("hours")
        assert old._namespace is None and old.mapValues(str)._namespace is None
        new = pairs.localityPartitionBy(HashPartitioner(3), "hours")
        assert new._namespace is not None and new._namespace.id != 0
        with pytest.raises(UserError, match=r"no namespace 'days'.*'hours'"):
            sc.dropNamespace("days")

    def test_the_first_of_many_threads_makes_it(self, sc: PlainContext) -> None:
        partitioners = [HashPartitioner(1 + number % 2) for number in range(8)]
        barrier = threading.Barrier(len(partitioners))
        refused: list[UserError] = []
        joined: list[object] = []

        def use(partitioner: HashPartitioner) -> None:
            barrier.wait()
            try:
                joined.append(sc.namespaces.use("hours", partitioner, "here"))
            except UserError as error:
                refused.append(error)

        threads = [threading.Thread(target=use, args=(each,)) for each in partitioners]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert len(joined) == len(refused) == 4 and len(set(map(id, joined))) == 1

    def test_one_to_one_children_belong_to_it(self, sc: PlainContext) -> None:
        member = sc.parallelize([(1, 1)]).localityPartitionBy(HashPartitioner(2), "hours")
        other = sc.parallelize([(1, 2)])
        inside = [
            member.mapValues(str),
            member.map(str).filter(bool),
            member.join(other),
            other.join(member),
            member.union(member.mapValues(str)),
        ]
        outside = [
            member.coalesce(1),
            member.repartition(2),
            member.cartesian(other),
            member.union(other),
            other,
        ]
        assert [rdd._namespace is member._namespace for rdd in inside] == [True] * 5
        assert [rdd._namespace for rdd in outside] == [None] * 5

    def test_what_lies_so_already_is_not_shuffled_again(self, sc: PlainContext) -> None:
        hashed = sc.parallelize([(1, 1)]).partitionBy(2)
        member = hashed.localityPartitionBy(ExtendablePartitioner(HashPartitioner(2), 1), "hours")
        assert count_shuffles(member) == 1 and member._namespace is not None
        again = member.localityPartitionBy(ExtendablePartitioner(HashPartitioner(2), 1), "hours")
        assert again is member
        assert count_shuffles(member.partitionBy(2)) == 1

    @pytest.mark.parametrize("how", ["join", "cogroup", "leftOuterJoin", "subtractByKey"])
    def test_joins_of_members_keep_the_ranges(self, sc: PlainContext, how: str) -> None:
        ranges = StaticRangePartitioner([10, 20])
        one, two = (
            sc.parallelize([(key, key) for key in range(0, 30, step)], 3) for step in (2, 3)
        )
        here, there = (each.localityPartitionBy(ranges, "hours") for each in (one, two))
        joined = getattr(here, how)(there)
        assert count_shuffles(joined) == 2 and joined.partitioner == ranges
        assert {key for key, _ in joined.collect()} == {
            key for key, _ in getattr(one, how)(two).collect()
        }
        assert [[ranges(key) for key, _ in part] for part in joined.glom().collect()] == [
            [number] * len(part) for number, part in enumerate(joined.glom().collect())
        ]
        # One side of another kind is brought to the ranges; another number is as it was.
        assert count_shuffles(getattr(here, how)(two)) == 2
        assert getattr(here, how)(there, 5).partitioner == Partitioner(5, portable_hash)
        assert getattr(here, how)(there, 3).partitioner == ranges

    def test_keys_that_changed_are_hashed(self, sc: PlainContext) -> None:
        ranges = StaticRangePartitioner([10, 20])
        member = sc.parallelize([(1, 1)]).localityPartitionBy(ranges, "hours")
        turned = member.map(lambda pair: (pair[1], pair[0]))
        assert turned.join(turned).partitioner == Partitioner(6, portable_hash)

    def test_arguments_are_checked(self, sc: PlainContext) -> None:
        pairs = sc.parallelize([(1, 1)])
        with pytest.raises(TypeError, match="partitioner"):
            pairs.localityPartitionBy(4, "hours")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="namespace"):
            pairs.localityPartitionBy(HashPartitioner(2), 3)  # type: ignore[arg-type]
