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
    return outcome(lambda: sc.parallelize([0, 1], 1).filter(None).collect())


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
