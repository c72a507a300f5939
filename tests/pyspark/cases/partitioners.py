"""Partitioners: made, compared, kept or lost."""

from operator import add

from tests.pyspark.api import submodule
from tests.pyspark.registry import case, outcome

PAIRS = [(n, n * n) for n in range(8)]


@case("join", "cogroup", "partitionBy")
def number_of_partitions_of_joins_of_partitioned_rdds(sc):
    plain = sc.parallelize(PAIRS, 3)
    parted, other = plain.partitionBy(4), plain.partitionBy(6)
    return [
        each.getNumPartitions()
        for each in (
            parted.join(plain),
            plain.join(parted),
            parted.join(parted),
            parted.join(other),
            parted.cogroup(plain),
            parted.cogroup(parted),
            parted.leftOuterJoin(parted),
            parted.fullOuterJoin(plain),
            parted.subtractByKey(plain),
            parted.subtractByKey(parted),
            parted.intersection(parted),
        )
    ]


@case("union", "partitionBy")
def union_of_co_partitioned_rdds(sc):
    rdd = sc.parallelize(PAIRS, 2)
    left, right = rdd.partitionBy(3), rdd.mapValues(str).partitionBy(3)
    joined = left.union(right)
    return joined.getNumPartitions(), joined.partitioner == left.partitioner


@case("union", "partitionBy")
def union_of_otherwise_partitioned_rdds(sc):
    rdd = sc.parallelize(PAIRS, 2)
    left = rdd.partitionBy(3)
    return [
        (each.getNumPartitions(), each.partitioner is None)
        for each in (
            left.union(rdd),
            left.union(rdd.partitionBy(4)),
            left.union(rdd.partitionBy(3, int)),
        )
    ]


@case("partitionBy", order="layout")
def partition_by_hash_of_ints(sc):
    return sc.parallelize(PAIRS, 2).partitionBy(3).glom().collect()


@case("partitionBy", order="layout")
def partition_by_a_function(sc):
    rdd = sc.parallelize(PAIRS, 2)
    return rdd.partitionBy(numPartitions=3, partitionFunc=lambda key: key // 3).glom().collect()


@case("partitionBy", order="layout")
def partition_by_a_function_out_of_range(sc):
    return sc.parallelize(PAIRS, 2).partitionBy(3, lambda key: -key - 1).glom().collect()


@case("partitionBy")
def partition_by_a_function_to_text_fails(sc):
    return outcome(lambda: sc.parallelize(PAIRS, 1).partitionBy(2, str), lambda r: r.collect())


@case("partitionBy")
def partition_by_the_same_is_the_same_rdd(sc):
    rdd = sc.parallelize(PAIRS, 2).partitionBy(3)
    return rdd.partitionBy(3) is rdd, rdd.partitionBy(4) is rdd, rdd.partitionBy(3, int) is rdd


@case("partitionBy")
def partition_by_more_than_there_are_records(sc):
    return sc.parallelize([(1, "a")], 1).partitionBy(4).glom().collect()


@case("partitionBy")
def partition_by_keeps_the_order_within_a_map_partition(sc):
    rdd = sc.parallelize([(0, n) for n in (5, 3, 8, 1)], 1)
    return rdd.partitionBy(2).glom().collect()


@case("partitionBy")
def partition_by_of_none_and_negative_keys(sc):
    rdd = sc.parallelize([(None, 0), (-1, 1), (-2, 2), (-7, 3)], 1)
    return [sorted(part, key=str) for part in rdd.partitionBy(3).glom().collect()]


@case("mapValues", "flatMapValues", "map", "filter")
def partitioner_kept_or_lost(sc):
    rdd = sc.parallelize(PAIRS, 2).partitionBy(3)
    kept = {
        "mapValues": rdd.mapValues(str),
        "flatMapValues": rdd.flatMapValues(lambda v: [v]),
        "map": rdd.map(lambda pair: pair),
        "map preserving": rdd.map(lambda pair: pair, preservesPartitioning=True),
        "flatMap": rdd.flatMap(lambda pair: [pair]),
        "flatMap preserving": rdd.flatMap(lambda pair: [pair], preservesPartitioning=True),
        "filter": rdd.filter(lambda pair: True),
        "mapPartitions": rdd.mapPartitions(lambda rows: rows),
        "mapPartitions preserving": rdd.mapPartitions(lambda rows: rows, True),
        "mapPartitionsWithIndex": rdd.mapPartitionsWithIndex(lambda i, rows: rows),
        "mapPartitionsWithIndex preserving": rdd.mapPartitionsWithIndex(lambda i, rows: rows, True),
        "glom": rdd.glom(),
        "keys": rdd.keys(),
        "coalesce": rdd.coalesce(2),
        "coalesce to as many": rdd.coalesce(3),
        "repartition": rdd.repartition(3),
        "union": rdd.union(rdd),
        "distinct": rdd.distinct(),
        "cartesian": rdd.cartesian(rdd),
        "zip": rdd.zip(rdd),
        "zipWithIndex": rdd.zipWithIndex(),
        "cache": rdd.cache(),
    }
    return {name: each.partitioner == rdd.partitioner for name, each in kept.items()}


@case("reduceByKey", "groupByKey", "join", "sortByKey")
def partitioner_of_wide_rdds(sc):
    rdd = sc.parallelize(PAIRS, 2)
    hashed = rdd.partitionBy(3).partitioner
    made = {
        "parallelize": rdd,
        "reduceByKey": rdd.reduceByKey(add, 3),
        "groupByKey": rdd.groupByKey(3),
        "combineByKey": rdd.combineByKey(str, add, add, 3),
        "foldByKey": rdd.foldByKey(0, add, 3),
        "aggregateByKey": rdd.aggregateByKey(0, add, add, 3),
        "join": rdd.join(rdd, 3),
        "leftOuterJoin": rdd.leftOuterJoin(rdd, 3),
        "cogroup": rdd.cogroup(rdd, 3),
        "subtractByKey": rdd.subtractByKey(rdd, 3),
        "distinct": rdd.distinct(3),
        "sortByKey": rdd.sortByKey(True, 3),
        "repartition": rdd.repartition(3),
        "repartitionAndSort": rdd.repartitionAndSortWithinPartitions(3),
    }
    return {
        name: (each.partitioner == hashed, each.partitioner is None) for name, each in made.items()
    }


@case("partitionBy")
def partitioner_is_an_object_of_number_and_function(sc):
    partitioner = sc.parallelize(PAIRS, 2).partitionBy(3, lambda key: key + 1).partitioner
    return (
        type(partitioner).__name__,
        partitioner.numPartitions,
        partitioner.partitionFunc(4),
        partitioner(4),
        sc.parallelize(PAIRS, 2).partitioner,
    )


@case("partitionBy", context="none")
def partitioners_compare():
    rdd_module = submodule("rdd")
    make, hashed = rdd_module.Partitioner, rdd_module.portable_hash
    return make(2, hashed) == make(2, hashed), make(2, hashed) == make(3, hashed), make(2, int) == 2
