"""Transformations of single records."""

from tests.pyspark.registry import case, outcome


@case("map", "collect")
def map_keeps_order_and_partitions(sc):
    return sc.parallelize(range(6), 3).map(lambda x: x * x).glom().collect()


@case("map")
def map_takes_the_keyword_f(sc):
    return sc.parallelize([1, 2], 1).map(f=str).collect()


@case("map")
def map_to_none(sc):
    return sc.parallelize([1, 2], 2).map(lambda x: None).collect()


@case("map")
def map_with_a_builtin_type(sc):
    return sc.parallelize(["1", "2"], 1).map(int).collect()


@case("map")
def map_with_a_bound_method(sc):
    return sc.parallelize(["a", "c"], 1).map({"a": 1}.get).collect()


@case("map")
def map_keeps_mixed_types(sc):
    rows = [None, True, 1, 1.0, "é", b"\xff", (1,), [2], {3}, frozenset([4]), {"k": 5}, 2**70]
    return sc.parallelize(rows, 3).map(lambda x: x).collect()


@case("flatMap")
def flat_map_flattens_one_level(sc):
    return sc.parallelize([1, 2, 3], 2).flatMap(lambda x: [[x]] * x).glom().collect()


@case("flatMap")
def flat_map_of_strings_gives_letters(sc):
    return sc.parallelize(["ab", "", "c"], 2).flatMap(lambda s: s).collect()


@case("flatMap")
def flat_map_of_generators(sc):
    def spell(word):
        yield from word.split("-")

    return sc.parallelize(["a-b", "c"], 2).flatMap(spell).collect()


@case("flatMap")
def flat_map_of_dicts_gives_keys(sc):
    return sc.parallelize([{"a": 1}, {"b": 2}], 1).flatMap(lambda d: d).collect()


@case("flatMap")
def flat_map_of_a_number_fails(sc):
    return outcome(lambda: sc.parallelize([1], 1).flatMap(lambda x: x), lambda r: r.collect())


@case("filter")
def filter_by_truth_of_any_value(sc):
    return sc.parallelize([0, 1, "", "a", None, [], [0]], 3).filter(lambda x: x).glom().collect()


@case("filter")
def filter_with_none_fails(sc):
    return outcome(lambda: sc.parallelize([0, 1], 1).filter(None), lambda r: r.collect())


@case("filter", "getNumPartitions")
def filter_keeps_empty_partitions(sc):
    rdd = sc.parallelize(range(8), 4).filter(lambda x: x > 5)
    return rdd.getNumPartitions(), rdd.glom().collect()


@case("mapPartitions")
def map_partitions_runs_once_per_partition(sc):
    return sc.parallelize(range(7), 3).mapPartitions(lambda rows: [sum(rows)]).collect()


@case("mapPartitions")
def map_partitions_gets_an_iterator(sc):
    return sc.parallelize([1], 1).mapPartitions(lambda rows: [iter(rows) is rows]).collect()


@case("mapPartitions")
def map_partitions_runs_for_empty_partitions(sc):
    return sc.parallelize([1], 3).mapPartitions(lambda rows: [len(list(rows))]).collect()


@case("mapPartitions")
def map_partitions_of_a_generator_function(sc):
    def pairs(rows):
        for row in rows:
            yield row
            yield -row

    return sc.parallelize([1, 2, 3], 2).mapPartitions(pairs).glom().collect()


@case("mapPartitions")
def map_partitions_must_return_an_iterable(sc):
    rdd = sc.parallelize([1], 1)
    return outcome(lambda: rdd.mapPartitions(lambda rows: 5), lambda r: r.collect())


@case("mapPartitions")
def map_partitions_may_leave_rows_unread(sc):
    return sc.parallelize(range(100), 2).mapPartitions(lambda rows: [next(iter(rows))]).collect()


@case("mapPartitionsWithIndex")
def map_partitions_with_index(sc):
    rdd = sc.parallelize("abcde", 3)
    return rdd.mapPartitionsWithIndex(lambda i, rows: [(i, list(rows))]).collect()


@case("mapPartitionsWithIndex", "union")
def partition_index_after_union_counts_on(sc):
    rdd = sc.parallelize([1, 2], 2).union(sc.parallelize([3], 1))
    return rdd.mapPartitionsWithIndex(lambda i, rows: [(i, list(rows))]).collect()


@case("glom")
def glom_of_more_partitions_than_records(sc):
    return sc.parallelize([1, 2], 4).glom().collect()


@case("glom")
def glom_of_glom(sc):
    return sc.parallelize([1, 2, 3], 2).glom().glom().collect()


@case("distinct", order="sorted")
def distinct_drops_equals(sc):
    return sc.parallelize([3, 1, 3, 2, 1], 3).distinct().collect()


@case("distinct")
def distinct_joins_equal_numbers_of_other_types(sc):
    return len(sc.parallelize([1, 1.0, True, 0, False, 0.0, -0.0], 3).distinct().collect())


@case("distinct", order="sorted")
def distinct_of_strings_tuples_and_none(sc):
    rows = ["a", ("a", 1), None, "a", ("a", 1), None, "b"]
    return sc.parallelize(rows, 3).distinct().collect()


@case("distinct")
def distinct_number_of_partitions(sc):
    rdd = sc.parallelize(range(4), 3)
    return rdd.distinct().getNumPartitions(), rdd.distinct(numPartitions=5).getNumPartitions()


@case("distinct")
def distinct_of_nothing(sc):
    return sc.emptyRDD().distinct().collect(), sc.parallelize([], 2).distinct().collect()


@case("distinct")
def distinct_of_lists_fails(sc):
    return outcome(lambda: sc.parallelize([[1], [1]], 2).distinct(), lambda r: r.collect())


@case("union")
def union_keeps_duplicates_and_order(sc):
    return sc.parallelize([2, 1], 2).union(sc.parallelize([1, 3], 1)).glom().collect()


@case("union")
def union_with_itself(sc):
    rdd = sc.parallelize([1, 2], 2)
    return rdd.union(rdd).glom().collect()


@case("union")
def union_of_other_kinds_of_records(sc):
    return sc.parallelize([1], 1).union(sc.parallelize(["a", (1, 2)], 1)).collect()


@case("__add__")
def plus_is_union(sc):
    return (sc.parallelize([1], 1) + sc.parallelize([2], 1) + sc.parallelize([3], 2)).collect()


@case("__add__")
def plus_a_list_fails(sc):
    records = [2]
    return outcome(lambda: sc.parallelize([1], 1) + records)


@case("__add__")
def sum_of_rdds_by_plus_needs_a_start(sc):
    rdds = [sc.parallelize([n], 1) for n in range(3)]
    return outcome(lambda: sum(rdds)), sum(rdds[1:], rdds[0]).collect()


@case("intersection", order="sorted")
def intersection_has_no_duplicates(sc):
    left = sc.parallelize([1, 10, 2, 2, 3, 3], 2)
    return left.intersection(sc.parallelize([3, 2, 2, 7], 3)).collect()


@case("intersection")
def intersection_number_of_partitions(sc):
    return sc.parallelize([1], 2).intersection(sc.parallelize([1], 3)).getNumPartitions()


@case("intersection")
def intersection_with_nothing(sc):
    return sc.parallelize([1, 2], 2).intersection(sc.emptyRDD()).collect()


@case("intersection", order="sorted")
def intersection_of_none_and_strings(sc):
    left = sc.parallelize([None, "a", "é", "b"], 2)
    return left.intersection(sc.parallelize(["é", None, "c"], 2)).collect()


@case("subtract", order="sorted")
def subtract_keeps_duplicates_of_the_left(sc):
    left = sc.parallelize([1, 1, 2, 3, 3], 2)
    return left.subtract(sc.parallelize([3, 4], 2)).collect()


@case("subtract")
def subtract_number_of_partitions(sc):
    left, right = sc.parallelize([1, 2], 2), sc.parallelize([2], 3)
    return (
        left.subtract(right).getNumPartitions(),
        left.subtract(right, numPartitions=4).getNumPartitions(),
    )


@case("subtract")
def subtract_itself(sc):
    rdd = sc.parallelize([1, 2, 3], 2)
    return rdd.subtract(rdd).collect()


@case("subtract", order="sorted")
def subtract_nothing(sc):
    return sc.parallelize(["a", "b"], 2).subtract(sc.emptyRDD()).collect()


@case("cartesian")
def cartesian_layout(sc):
    return sc.parallelize([1, 2, 3], 2).cartesian(sc.parallelize("ab", 2)).glom().collect()


@case("cartesian")
def cartesian_with_itself(sc):
    rdd = sc.parallelize([1, 2], 1)
    return rdd.cartesian(rdd).collect()


@case("cartesian")
def cartesian_with_nothing(sc):
    rdd = sc.parallelize([1, 2], 2)
    return (
        rdd.cartesian(sc.emptyRDD()).getNumPartitions(),
        rdd.cartesian(sc.parallelize([], 3)).getNumPartitions(),
        rdd.cartesian(sc.parallelize([], 3)).collect(),
    )


@case("cartesian", order="sorted")
def cartesian_of_uneven_batches(sc):
    return sc.parallelize(range(5), 2).cartesian(sc.parallelize(range(3), 1)).collect()


@case("cartesian", order="sorted")
def cartesian_of_cartesian(sc):
    rdd = sc.parallelize([1, 2], 2)
    return rdd.cartesian(rdd).cartesian(rdd).collect()


@case("keyBy")
def key_by_pairs_key_and_record(sc):
    return sc.parallelize(["a", "bbb"], 2).keyBy(len).collect()


@case("groupBy", order="sorted")
def group_by_parity(sc):
    groups = sc.parallelize([1, 1, 2, 3, 5, 8], 2).groupBy(lambda x: x % 2).collect()
    return [(key, sorted(held)) for key, held in groups]


@case("groupBy")
def group_by_number_of_partitions(sc):
    rdd = sc.parallelize(range(4), 3)
    return (
        rdd.groupBy(lambda x: x).getNumPartitions(),
        rdd.groupBy(lambda x: x, numPartitions=2).getNumPartitions(),
    )


@case("groupBy", order="layout")
def group_by_with_a_partition_function(sc):
    rdd = sc.parallelize(range(6), 3)
    grouped = rdd.groupBy(lambda x: x % 3, 3, partitionFunc=lambda key: 2 - key)
    return grouped.mapValues(sorted).glom().collect()


@case("pipe")
def pipe_through_cat(sc):
    return sc.parallelize(["1", "2", "", "3"], 2).pipe("cat").collect()


@case("pipe")
def pipe_turns_records_into_text(sc):
    return sc.parallelize([1, None, (2, "é")], 1).pipe("cat").collect()


@case("pipe")
def pipe_strips_line_ends_of_the_input(sc):
    return sc.parallelize(["a\n", "b\n\n", " c "], 1).pipe("cat").collect()


@case("pipe")
def pipe_splits_the_command_like_a_shell(sc):
    return sc.parallelize(["a b"], 1).pipe("sed 's/a b/c  d/'").collect()


@case("pipe")
def pipe_with_environment(sc):
    rdd = sc.parallelize(["x"], 1).pipe("sh -c 'cat; echo $COLOUR'", env={"COLOUR": "red"})
    return rdd.collect()


@case("pipe")
def pipe_sees_only_the_environment_given(sc):
    return sc.parallelize([], 1).pipe("/bin/sh -c 'echo [$HOME]'", {"A": "1"}).collect()


@case("pipe")
def pipe_runs_for_empty_partitions(sc):
    return sc.parallelize([], 2).pipe("wc -l").map(str.strip).collect()


@case("pipe")
def pipe_ignores_a_failing_command(sc):
    return sc.parallelize(["a"], 1).pipe("sh -c 'cat; exit 3'").collect()


@case("pipe")
def pipe_check_code_makes_failure_an_error(sc):
    rdd = sc.parallelize(["a"], 1)
    return outcome(lambda: rdd.pipe("sh -c 'cat; exit 3'", checkCode=True), lambda r: r.collect())


@case("pipe")
def pipe_to_a_missing_command(sc):
    rdd = sc.parallelize(["a"], 1)
    return outcome(lambda: rdd.pipe("no-such-command-anywhere"), lambda r: r.collect())


@case("zip")
def zip_pairs_by_position(sc):
    return sc.parallelize(range(4), 2).zip(sc.parallelize("abcd", 2)).glom().collect()


@case("zip")
def zip_of_mapped_rdds(sc):
    rdd = sc.parallelize(range(5), 2)
    return rdd.zip(rdd.map(lambda x: x + 1000)).collect()


@case("zip")
def zip_of_unequal_numbers_of_partitions(sc):
    return outcome(
        lambda: sc.parallelize([1, 2], 1).zip(sc.parallelize([1, 2], 2)), lambda r: r.collect()
    )


@case("zip")
def zip_of_unequal_lengths(sc):
    left, right = sc.parallelize(range(5), 2), sc.parallelize(range(6), 2)
    return (
        outcome(lambda: left.zip(right), lambda r: r.count()),
        outcome(lambda: right.zip(left), lambda r: r.count()),
    )


@case("zip")
def zip_of_lists_of_other_batch_sizes(sc):
    left = sc.parallelize(list(range(3000)), 2)
    right = left.map(str).filter(lambda s: True)
    return left.zip(right).filter(lambda pair: pair[0] % 1000 == 0).collect()


@case("zip")
def zip_of_nothing(sc):
    return sc.parallelize([], 2).zip(sc.parallelize([], 2)).collect()


@case("zipWithIndex")
def zip_with_index_counts_over_partitions(sc):
    return sc.parallelize("abcde", 3).zipWithIndex().glom().collect()


@case("zipWithIndex")
def zip_with_index_after_a_filter(sc):
    rdd = sc.parallelize(range(10), 4).filter(lambda x: x not in (3, 4))
    return rdd.zipWithIndex().collect()


@case("zipWithIndex")
def zip_with_index_of_one_partition(sc):
    return sc.parallelize([5, 6], 1).zipWithIndex().collect()


@case("zipWithIndex")
def zip_with_index_of_nothing(sc):
    return outcome(lambda: sc.emptyRDD().zipWithIndex(), lambda r: r.collect())


@case("zipWithUniqueId")
def zip_with_unique_id(sc):
    return sc.parallelize("abcdef", 3).zipWithUniqueId().glom().collect()


@case("zipWithUniqueId")
def zip_with_unique_id_of_uneven_partitions(sc):
    rdd = sc.parallelize(range(7), 3).filter(lambda x: x != 0)
    return rdd.zipWithUniqueId().collect()
