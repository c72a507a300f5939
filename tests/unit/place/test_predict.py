"""Predicted sizes: by observation, by samples, and how far off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sampled_rows import rows_by_samples

from pyrite.ids import NodeId
from pyrite.place import predict
from pyrite.place.predict import (
    PredictionError,
    Sample,
    SeenOutput,
    error_of,
    is_enough,
    observe,
    sampled,
)
from pyrite.place.reducers import Reducer
from pyrite.place.sizes import encode

A, B = NodeId("a"), NodeId("b")
REDUCERS = 5

# The rows of map partitions, each as the reducer that it falls to.
FALLS = st.lists(st.lists(st.integers(0, REDUCERS - 1), max_size=30), max_size=8)


def sample(rows: int, drawn: Iterable[int]) -> Sample:
    """A sample of a partition with so many rows, by the reducers of the rows that were drawn."""
    counts = Counter(drawn)
    return Sample(rows, counts.total(), tuple(sorted(counts.items())))


def count(rows: list[int], reducers: int) -> list[int]:
    return [rows.count(reducer) for reducer in range(reducers)]


def sizes(found: list[Reducer]) -> list[int]:
    return [each.size_bytes for each in found]


def rows_by_reducer(parts: list[list[int]], reducers: int) -> list[int]:
    return count([row for part in parts for row in part], reducers)


class TestObservation:
    def test_a_share_of_the_maps_is_enough_but_one_at_least(self) -> None:
        assert not is_enough(4, 100, share=0.05)
        assert is_enough(5, 100, share=0.05)
        assert not is_enough(0, 3, share=0.05)
        assert is_enough(1, 3, share=0.05)
        assert is_enough(7, 100, share=0.07)
        assert not is_enough(9, 10, share=1)
        assert not is_enough(0, 10, share=0)

    def test_sizes_are_scaled_to_all_maps_and_holdings_are_not(self) -> None:
        outputs = {
            0: SeenOutput(A, encode([10, 0])),
            1: SeenOutput(B, encode([2, 4])),
            4: SeenOutput(A, encode([3, 2])),
        }
        assert observe(outputs, maps=6, reducers=2) == [
            Reducer(30, {A: 13, B: 2}),
            Reducer(12, {A: 2, B: 4}),
        ]

    def test_sizes_are_scaled_by_the_input_of_the_maps(self) -> None:
        outputs = {0: SeenOutput(A, encode([10, 2])), 2: SeenOutput(B, encode([5, 1]))}
        # Half of the maps, but three quarters of the input.
        found = observe(outputs, 4, 2, weights=[20, 4, 10, 6])
        assert sizes(found) == [20, 4]
        assert sizes(observe(outputs, 4, 2, weights=[0, 4, 0, 6])) == [30, 6]

    def test_nothing_seen_predicts_nothing(self) -> None:
        assert observe({}, maps=6, reducers=2) == [Reducer(0, {}), Reducer(0, {})]

    def test_on_very_many_nodes_nobody_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(predict, "MOST_HOLDINGS", 3)
        outputs = {0: SeenOutput(A, encode([10, 0])), 1: SeenOutput(B, encode([2, 4]))}
        assert observe(outputs, maps=4, reducers=2) == [Reducer(24, {}), Reducer(8, {})]

    @given(st.lists(st.lists(st.integers(0, 20), min_size=3, max_size=3), min_size=1, max_size=8))
    def test_all_maps_seen_is_the_truth(self, maps: list[list[int]]) -> None:
        outputs = {n: SeenOutput((A, B)[n % 2], encode(each)) for n, each in enumerate(maps)}
        found = observe(outputs, len(maps), 3)
        assert sizes(found) == [sum(column) for column in zip(*maps, strict=True)]
        assert all(sum(each.held_bytes.values()) == each.size_bytes for each in found)


class TestEquation1:
    def test_samples_count_by_the_weight_of_their_partition(self) -> None:
        # s = 3 and p = 2: 600 * 4/6 + 60 * 1/6, 600 * 2/6 + 60 * 5/6.
        samples = [Sample(600, 6, [(0, 4), (1, 2)]), Sample(60, 6, [(0, 1), (1, 5)])]
        assert rows_by_samples(samples, 2) == [410, 250]

    @given(FALLS, st.data())
    def test_it_is_the_paper_s_sum(self, parts: list[list[int]], data: st.DataObject) -> None:
        drawn = [
            data.draw(st.lists(st.sampled_from(part), min_size=1)) if part else [] for part in parts
        ]
        samples = [sample(len(part), some) for part, some in zip(parts, drawn, strict=True)]
        for reducer, found in enumerate(rows_by_samples(samples, REDUCERS)):
            exact = sum(
                (
                    Fraction(len(part) * some.count(reducer), len(some))
                    for part, some in zip(parts, drawn, strict=True)
                    if some
                ),
                Fraction(0),
            )
            assert abs(found - exact) <= Fraction(1, 2) + Fraction(1, 10**6)

    @given(FALLS)
    def test_a_sample_of_everything_is_never_wrong(self, parts: list[list[int]]) -> None:
        samples = [sample(len(part), part) for part in parts]
        true = rows_by_reducer(parts, REDUCERS)
        assert error_of(rows_by_samples(samples, REDUCERS), true) == PredictionError(0, 0, 0, 0)

    @given(FALLS, st.integers(0, 1000))
    def test_rows_that_nobody_drew_fall_like_the_others(
        self, parts: list[list[int]], missed: int
    ) -> None:
        known = [sample(len(part), part) for part in parts]
        found = rows_by_samples([*known, Sample(missed, 0, ())], REDUCERS)
        true = rows_by_reducer(parts, REDUCERS)
        total = sum(true)
        shares = [size / total if total else 1 / REDUCERS for size in true]
        assert found == pytest.approx([(total + missed) * each for each in shares], abs=0.51)

    @pytest.mark.parametrize("reducer", [-1, 2])
    def test_a_sample_for_other_reducers_is_refused(self, reducer: int) -> None:
        with pytest.raises(ValueError, match=f"reducer {reducer} of 2"):
            rows_by_samples([Sample(1, 1, [(reducer, 1)])], 2)

    @pytest.mark.parametrize("skew", [0, 1, 2])
    def test_uniform_and_skewed_keys(self, skew: int) -> None:
        """Maps that each have other rows, of Zipf's distribution, with 3 * p rows drawn of each."""
        die = Random(skew)
        reducers = 20
        weights = [1 / (1 + reducer) ** skew for reducer in range(reducers)]
        parts = [
            die.choices(range(reducers), weights, k=die.randrange(200, 2000)) for _ in range(40)
        ]
        samples = [sample(len(part), die.sample(part, 3 * reducers)) for part in parts]
        found = error_of(rows_by_samples(samples, reducers), rows_by_reducer(parts, reducers))
        # With 120 rows a reducer, of partitions of unlike weight, one deviation is a tenth.
        assert found.misplaced < 0.1
        assert abs(found.heaviest) < 0.3
        assert abs(found.total) < 0.001


class TestSamplesWithOutputs:
    def test_maps_that_are_done_count_as_they_are_and_give_the_bytes_of_a_row(self) -> None:
        samples = [sample(10, [0, 1]), sample(40, [0, 1, 1, 1]), sample(10, [0])]
        # 15 bytes for 10 rows; and 40 rows to come, 10 and 30, and 10 more.
        found = sampled(samples, {0: SeenOutput(A, encode([5, 10]))}, 2)
        assert found == [Reducer(5 + 15 + 15, {A: 5}), Reducer(10 + 45, {A: 10})]

    def test_what_is_held_is_what_is_done(self) -> None:
        samples = [sample(2, [0, 1]), sample(4, [1]), sample(4, [0])]
        outputs = {2: SeenOutput(A, encode([8, 0])), 1: SeenOutput(B, encode([0, 8]))}
        assert sampled(samples, outputs, 2) == [
            Reducer(8 + 2, {A: 8, B: 0}),
            Reducer(8 + 2, {A: 0, B: 8}),
        ]

    def test_before_any_map_is_done_sizes_are_in_rows(self) -> None:
        assert sampled([sample(10, [0, 1]), sample(4, [1])], {}, 2) == [Reducer(5), Reducer(9)]

    def test_maps_without_rows_tell_nothing_of_the_others(self) -> None:
        found = sampled([sample(0, []), sample(4, [1])], {0: SeenOutput(A, encode([0, 0]))}, 2)
        assert sizes(found) == [0, 4]

    @given(st.lists(st.lists(st.integers(0, 20), min_size=3, max_size=3), min_size=1, max_size=8))
    def test_when_all_maps_are_done_samples_no_longer_matter(self, maps: list[list[int]]) -> None:
        outputs = {
            number: SeenOutput((A, B)[number % 2], encode(each)) for number, each in enumerate(maps)
        }
        wrong = [Sample(1000, 1, [(0, 1)])] * len(maps)
        assert sampled(wrong, outputs, 3) == observe(outputs, len(maps), 3)

    def test_sorted_input_deceives_observation_but_not_samples(self) -> None:
        """The paper's figure 7b: each map's rows belong to few ranges, and maps differ in size."""
        rows = [[reducer] * (100 * (reducer + 1)) for reducer in range(20)]
        true = [8 * len(each) for each in rows]
        seen = {
            number: SeenOutput(A, encode([8 * size for size in count(rows[number], 20)]))
            for number in (3, 7)
        }
        die = Random(7)
        samples = [sample(len(each), die.sample(each, 60)) for each in rows]
        assert error_of(sizes(sampled(samples, seen, 20)), true).mean < 0.05
        assert error_of(sizes(observe(seen, 20, 20)), true).mean > 0.9


class TestErrors:
    def test_errors_say_how_much_where_and_which_way(self) -> None:
        found = error_of(predicted=[50, 120, 10, 0], true=[100, 100, 0, 0])
        assert found == PredictionError(
            mean=0.35, misplaced=0.4, total=pytest.approx(-0.1), heaviest=-0.5
        )

    def test_no_input_has_no_error(self) -> None:
        assert error_of([1, 2], [0, 0]) == PredictionError(0, 0, 0, 0)


def test_maps_count_as_held_where_they_run() -> None:
    samples = [sample(2, [0, 1]), sample(4, [1, 1]), sample(4, [0])]
    outputs = {2: SeenOutput(A, encode([8, 0]))}
    found = sampled(samples, outputs, 2, {0: B, 1: B})
    assert found == [Reducer(8 + 2, {A: 8, B: 2}), Reducer(2 + 8, {A: 0, B: 10})]


def test_on_very_many_nodes_places_of_maps_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predict, "MOST_HOLDINGS", 3)
    samples = [sample(2, [0, 1]), sample(4, [0])]
    outputs = {1: SeenOutput(A, encode([8, 0]))}
    assert [each.held_bytes for each in sampled(samples, outputs, 2, {0: B})] == [{A: 8}, {A: 0}]
