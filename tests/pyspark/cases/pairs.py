"""Transformations of pairs."""

from operator import add

from tests.pyspark.registry import case, outcome

PAIRS = [("a", 1), ("b", 1), ("a", 2), ("c", 5), ("b", 7)]
NUMBERED = [(1, "a"), (2, "b"), (1, "c"), (3, "d"), (2, "e"), (4, "f")]


@case("keys")
def keys_in_order(sc):
    return sc.parallelize(PAIRS, 2).keys().collect()


@case("values")
def values_in_order(sc):
    return sc.parallelize(PAIRS, 2).values().collect()


@case("keys", "values")
def keys_and_values_of_longer_rows(sc):
    rdd = sc.parallelize([(1, 2, 3), [4, 5], "xy"], 1)
    return rdd.keys().collect(), rdd.values().collect()


@case("keys")
def keys_of_numbers_fail(sc):
    return outcome(lambda: sc.parallelize([1], 1).keys(), lambda r: r.collect())


@case("mapValues")
def map_values(sc):
    return sc.parallelize(PAIRS, 2).mapValues(lambda v: v * 10).glom().collect()


@case("mapValues")
def map_values_turns_lists_into_tuples(sc):
    return sc.parallelize([["a", 1]], 1).mapValues(str).collect()


@case("flatMapValues")
def flat_map_values(sc):
    rdd = sc.parallelize([("a", ["x", "y"]), ("b", []), ("c", "pq")], 2)
    return rdd.flatMapValues(lambda v: v).collect()


@case("reduceByKey", order="sorted")
def reduce_by_key_adds(sc):
    return sc.parallelize(PAIRS, 3).reduceByKey(add).collect()


@case("reduceByKey", order="layout")
def reduce_by_key_layout_of_int_keys(sc):
    return sc.parallelize(NUMBERED, 1).reduceByKey(add, 3).glom().collect()


@case("reduceByKey", order="sorted")
def reduce_by_key_keeps_lone_values_untouched(sc):
    return sc.parallelize([(1, "only"), (2, None)], 2).reduceByKey(lambda a, b: 1 / 0).collect()


@case("reduceByKey", order="sorted")
def reduce_by_key_with_none_keys(sc):
    return sc.parallelize([(None, 1), ("a", 2), (None, 3)], 3).reduceByKey(add).collect()


@case("reduceByKey")
def reduce_by_key_joins_equal_keys_of_other_types(sc):
    pairs = [(1, 1), (1.0, 10), (True, 100), (0, 1000), (False, 10000)]
    return sorted(sc.parallelize(pairs, 5).reduceByKey(add).values().collect())


@case("reduceByKey")
def reduce_by_key_with_keywords(sc):
    rdd = sc.parallelize(NUMBERED, 2)
    reduced = rdd.reduceByKey(func=add, numPartitions=2, partitionFunc=lambda key: 0)
    return [len(part) for part in reduced.glom().collect()]


@case("reduceByKey")
def reduce_by_key_in_the_order_of_records(sc):
    pairs = [("k", "a"), ("k", "b"), ("k", "c")]
    return sc.parallelize(pairs, 1).reduceByKey(add).collect()


@case("reduceByKey")
def reduce_by_key_of_nothing(sc):
    return sc.parallelize([], 2).reduceByKey(add).collect()


@case("reduceByKey")
def reduce_by_key_of_lists_as_keys_fails(sc):
    rdd = sc.parallelize([([1], 1)], 1)
    return outcome(lambda: rdd.reduceByKey(add), lambda r: r.collect())


@case("reduceByKey")
def reduce_by_key_of_non_pairs_fails(sc):
    return outcome(lambda: sc.parallelize([1, 2], 1).reduceByKey(add), lambda r: r.collect())


@case("reduceByKey", order="sorted")
def reduce_by_key_of_longer_rows_fails(sc):
    rdd = sc.parallelize([(1, 2, 3), (1, 4, 5)], 1)
    return outcome(lambda: rdd.reduceByKey(add), lambda r: r.collect())


@case("reduceByKey", order="sorted")
def reduce_by_key_of_pairs_as_lists(sc):
    return sc.parallelize([["a", 1], ["a", 2]], 2).reduceByKey(add).collect()


@case("reduceByKeyLocally")
def reduce_by_key_locally(sc):
    result = sc.parallelize(PAIRS, 3).reduceByKeyLocally(add)
    return type(result).__name__, dict(result)


@case("reduceByKeyLocally")
def reduce_by_key_locally_of_empty_partitions(sc):
    return sc.parallelize([("a", 1)], 3).reduceByKeyLocally(func=add)


@case("reduceByKeyLocally")
def reduce_by_key_locally_of_nothing(sc):
    return (
        outcome(lambda: sc.emptyRDD().reduceByKeyLocally(add)),
        outcome(lambda: sc.parallelize([], 2).reduceByKeyLocally(add)),
    )


@case("groupByKey", order="sorted")
def group_by_key(sc):
    return sc.parallelize(PAIRS, 2).groupByKey().mapValues(sorted).collect()


@case("groupByKey")
def group_by_key_gives_a_sized_iterable(sc):
    held = sc.parallelize([("a", 1), ("a", 2)], 1).groupByKey().collect()[0][1]
    return type(held).__name__, len(held), list(held), list(held)


@case("groupByKey")
def group_by_key_keeps_the_order_of_records(sc):
    pairs = [("k", n) for n in (3, 1, 2)]
    return sc.parallelize(pairs, 1).groupByKey().mapValues(list).collect()


@case("groupByKey", order="layout")
def group_by_key_with_a_partition_function(sc):
    rdd = sc.parallelize(NUMBERED, 3).groupByKey(numPartitions=2, partitionFunc=lambda k: k // 3)
    return rdd.mapValues(sorted).glom().collect()


@case("groupByKey")
def group_by_key_of_nothing(sc):
    return sc.parallelize([], 3).groupByKey().collect()


@case("combineByKey", order="sorted")
def combine_by_key_to_lists(sc):
    rdd = sc.parallelize(PAIRS, 2).combineByKey(
        lambda v: [v], lambda held, v: [*held, v], lambda a, b: a + b
    )
    return rdd.mapValues(sorted).collect()


@case("combineByKey", order="layout")
def combine_by_key_with_keywords(sc):
    rdd = sc.parallelize(NUMBERED, 2).combineByKey(
        createCombiner=lambda v: {v},
        mergeValue=lambda held, v: held | {v},
        mergeCombiners=lambda a, b: a | b,
        numPartitions=2,
        partitionFunc=lambda key: key,
    )
    return rdd.glom().collect()


@case("combineByKey")
def combine_by_key_combines_within_partitions_first(sc):
    rdd = sc.parallelize([("k", n) for n in range(6)], 2)
    return rdd.combineByKey(
        lambda v: (1, 0), lambda held, v: (held[0] + 1, held[1]), lambda a, b: (a[0] + b[0], 1)
    ).collect()


@case("aggregateByKey", order="sorted")
def aggregate_by_key(sc):
    return (
        sc.parallelize(PAIRS, 2)
        .aggregateByKey(
            (0, 0), lambda u, v: (u[0] + v, u[1] + 1), lambda a, b: (a[0] + b[0], a[1] + b[1])
        )
        .collect()
    )


@case("aggregateByKey", order="sorted")
def aggregate_by_key_copies_a_mutable_zero(sc):
    def append(held, value):
        held.append(value)
        return held

    def extend(a, b):
        a.extend(b)
        return a

    rdd = sc.parallelize(PAIRS, 2).aggregateByKey([], append, extend)
    return rdd.mapValues(sorted).collect()


@case("aggregateByKey")
def aggregate_by_key_uses_zero_once_per_key_and_partition(sc):
    rdd = sc.parallelize([("k", 1)] * 4, 2)
    return rdd.aggregateByKey(100, add, add).collect()


@case("aggregateByKey", order="layout")
def aggregate_by_key_with_keywords(sc):
    rdd = sc.parallelize(NUMBERED, 2).aggregateByKey(
        zeroValue="", seqFunc=add, combFunc=add, numPartitions=2, partitionFunc=lambda k: k
    )
    return rdd.glom().collect()


@case("foldByKey", order="sorted")
def fold_by_key(sc):
    return sc.parallelize(PAIRS, 2).foldByKey(0, add).collect()


@case("foldByKey")
def fold_by_key_uses_zero_once_per_key_and_partition(sc):
    return sc.parallelize([("k", 1)] * 4, 2).foldByKey(100, add).collect()


@case("foldByKey", order="layout")
def fold_by_key_with_keywords(sc):
    rdd = sc.parallelize(NUMBERED, 2)
    return (
        rdd.foldByKey(zeroValue="", func=add, numPartitions=2, partitionFunc=int).glom().collect()
    )


@case("countByKey")
def count_by_key_is_a_default_dict(sc):
    counts = sc.parallelize(PAIRS, 2).countByKey()
    return type(counts).__name__, dict(counts), counts["absent"]


@case("countByKey")
def count_by_key_of_nothing(sc):
    return dict(sc.parallelize([], 2).countByKey())


@case("collectAsMap")
def collect_as_map_keeps_the_last_value(sc):
    return sc.parallelize([("a", 1), ("b", 2), ("a", 3)], 2).collectAsMap()


@case("collectAsMap")
def collect_as_map_of_nothing(sc):
    return sc.emptyRDD().collectAsMap()


@case("lookup")
def lookup_without_a_partitioner(sc):
    rdd = sc.parallelize(PAIRS, 3)
    return rdd.lookup("b"), rdd.lookup("none"), rdd.lookup(key="a")


@case("lookup", "sortByKey")
def lookup_of_a_sorted_rdd(sc):
    rdd = sc.parallelize([(n, n * n) for n in range(20)], 4).sortByKey()
    return rdd.lookup(7), rdd.lookup(99)


@case("lookup", "partitionBy")
def lookup_with_a_partitioner(sc):
    rdd = sc.parallelize(NUMBERED, 2).partitionBy(3)
    return rdd.lookup(2), rdd.lookup(9), rdd.lookup(2.0)


@case("lookup", "groupByKey")
def lookup_of_groups(sc):
    rdd = sc.parallelize(NUMBERED, 2).groupByKey().mapValues(sorted)
    return rdd.lookup(1)


@case("lookup")
def lookup_of_a_tuple_key(sc):
    rdd = sc.parallelize([(("a", "b"), "c")], 1).groupByKey()
    return list(rdd.lookup(("a", "b"))[0])


@case("subtractByKey", order="sorted")
def subtract_by_key(sc):
    other = sc.parallelize([("a", None), ("x", 1)], 2)
    return sc.parallelize(PAIRS, 2).subtractByKey(other).collect()


@case("subtractByKey")
def subtract_by_key_number_of_partitions(sc):
    left, right = sc.parallelize(PAIRS, 2), sc.parallelize([("a", 1)], 3)
    return (
        left.subtractByKey(right).getNumPartitions(),
        left.subtractByKey(right, 4).getNumPartitions(),
    )


@case("subtractByKey", order="sorted")
def subtract_by_key_of_nothing(sc):
    return sc.parallelize(PAIRS, 2).subtractByKey(sc.parallelize([], 1)).collect()
