"""Unions, intersections, differences, products."""

from tests.pyspark.registry import case, outcome


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
