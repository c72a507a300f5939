"""Routers and the samples that come with ranges."""

import pickle
from collections import Counter
from typing import Any
from weakref import ref

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain import PlainContext
from sampled_rows import rows_by_samples

from pyrite.hashing import portable_hash
from pyrite.place.predict import Sample, error_of
from pyrite.rdd.functions import identity
from pyrite.rdd.partitioner import ByKey, ByRange, Partitioner, RangeFunc, Router, Sampled, Spread
from pyrite.rdd.quantiles import draw_keys

SAMPLES = (Sample(10, 2, ((0, 1), (1, 1))), Sample(20, 1, ((1, 1),)))


class AnyRdd:
    """Only which one it is counts."""


RDD: Any = AnyRdd()
OTHER_RDD: Any = AnyRdd()


def ranges() -> RangeFunc:
    return RangeFunc([5], None, True, Sampled(ref(RDD), SAMPLES))


def by_key(func: Any, parts: int = 2) -> ByKey:
    return ByKey(Partitioner(parts, func))


@pytest.mark.parametrize("router", [ByRange(ranges()), by_key(ranges())])
class TestSamples:
    def test_they_are_known_for_the_rdd_that_was_sampled(self, router: Router) -> None:
        assert router.samples(RDD, 2) == SAMPLES

    def test_they_say_nothing_of_another_rdd_or_of_other_parts(self, router: Router) -> None:
        assert router.samples(OTHER_RDD, 2) is None
        assert router.samples(RDD, 3) is None

    def test_they_are_not_sent_to_executors(self, router: Router) -> None:
        data = pickle.dumps(router)
        assert pickle.loads(data).samples(RDD, 2) is None
        assert b"Sample(" not in data and b"predict" not in data
        assert router.samples(RDD, 2) == SAMPLES


def test_ranges_are_the_same_after_a_journey() -> None:
    arrived = pickle.loads(pickle.dumps(ranges()))
    assert [arrived(key) for key in range(10)] == [ranges()(key) for key in range(10)]


def test_samples_do_not_matter_to_equality() -> None:
    func = ranges()
    before = Partitioner(2, func)
    func.sampled = None
    assert Partitioner(2, func) == before
    assert hash(Partitioner(2, func)) == hash(before)
    assert Partitioner(2, ranges()) != before


def test_other_routers_have_none() -> None:
    for router in (
        Spread(),
        by_key(portable_hash),
        by_key(abs),
        ByRange(RangeFunc([], None, True)),
    ):
        assert router.samples(RDD, 1) is None


def test_routers_say_by_what_they_send() -> None:
    routers = [by_key(portable_hash), by_key(ranges()), ByRange(ranges()), by_key(abs), Spread()]
    assert [each.kind for each in routers] == ["hash", "range", "range", "custom", "place"]
    assert [each.by_place for each in routers] == [False, False, False, False, True]


def sampled_of(rdd: Any) -> Sampled:
    """What was sampled for the ranges of a sorted RDD."""
    func = rdd.partitioner.partitionFunc
    assert func.sampled is not None
    return func.sampled  # type: ignore[no-any-return]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.integers(2, 4), st.booleans())
def test_all_rows_of_a_small_rdd_are_in_its_samples(
    keys: list[int], parts: int, ascending: bool
) -> None:
    sc = PlainContext("/nonexistent")
    rdd = sc.parallelize([(key, None) for key in keys], 3)
    done = rdd.sortByKey(ascending, parts)
    assert sampled_of(done).rdd() is rdd
    samples = sampled_of(done).samples
    assert [each.weight for each in samples] == [each.drawn for each in samples]
    for sample, rows in zip(samples, rdd.glom().collect(), strict=True):
        falls = Counter(map(done.partitioner, [row[0] for row in rows]))
        assert dict(sample.parts) == falls
    true = [len(part) for part in done.glom().collect()]
    assert error_of(rows_by_samples(samples, parts), true) == (0, 0, 0, 0)


@pytest.mark.parametrize("ascending", [True, False])
@pytest.mark.parametrize("skew", [1, 4])
def test_samples_of_a_large_rdd_predict_its_ranges(
    sc: PlainContext, ascending: bool, skew: int
) -> None:
    """Each partition has other keys and another size; with skew, low keys are many."""
    rdd = sc.range(40_000, 7).map(lambda x: (int((x / 40_000) ** skew * 1000), x))
    rdd = rdd.filter(lambda row: row[1] % 7 < 6 - row[1] // 8000)
    done = rdd.sortByKey(ascending, 6)
    samples = sampled_of(done).samples
    assert sum(each.drawn for each in samples) < 1000
    assert [each.weight for each in samples] == [len(part) for part in rdd.glom().collect()]
    true = [len(part) for part in done.glom().collect()]
    assert error_of(rows_by_samples(samples, 6), true).misplaced < 0.1


def test_sorting_by_a_function_samples_what_it_gives(sc: PlainContext) -> None:
    done = sc.parallelize(["b", "C", "a", "D"], 2).keyBy(str).sortByKey(True, 2, str.lower)
    true = [len(part) for part in done.glom().collect()]
    assert rows_by_samples(sampled_of(done).samples, 2) == true


class Touchy:
    """A key that can't be compared if it is touchy."""

    def __init__(self, value: int, touchy: bool) -> None:
        self.value = value
        self.touchy = touchy

    def __lt__(self, other: "Touchy") -> bool:
        if self.touchy or other.touchy:
            raise TypeError(f"{self.value} and {other.value} can't be compared")
        return self.value < other.value


def test_a_key_that_cannot_be_compared_fails_where_it_is_dealt_out(sc: PlainContext) -> None:
    # One that is drawn, but is not among the 40 of 900 rows by which ranges are cut.
    drawn = draw_keys(40.0, 1.0, identity, 0, iter(range(450))).keys
    (touchy, *_) = [key for number, key in drawn if 41 / 900 < number < 39 / 450]
    rdd = sc.parallelize([(Touchy(n, n == touchy), None) for n in range(900)], 2)
    done = rdd.sortByKey(numPartitions=2)
    assert done.partitioner is not None
    func = done.partitioner.partitionFunc
    assert isinstance(func, RangeFunc)
    assert func.sampled is None
    with pytest.raises(TypeError, match="can't be compared"):
        done.collect()
