"""Joins and cogroups."""

from tests.pyspark.registry import case, fails, outcome

LEFT = [("a", 1), ("b", 4), ("a", 2)]
RIGHT = [("a", "x"), ("c", "y"), ("a", "z")]


def two(sc, left_partitions=2, right_partitions=2):
    return sc.parallelize(LEFT, left_partitions), sc.parallelize(RIGHT, right_partitions)


def grouped(rdd):
    """The collected groups with each iterable as a sorted list."""
    return [(key, tuple(sorted(held) for held in groups)) for key, groups in rdd.collect()]


@case("join", order="sorted")
def join_pairs_all_values(sc):
    left, right = two(sc)
    return left.join(right).collect()


@case("join", order="sorted")
def join_with_itself(sc):
    left = sc.parallelize(LEFT, 2)
    return left.join(left).collect()


@case("join")
def join_of_nothing(sc):
    left = sc.parallelize(LEFT, 2)
    return left.join(sc.emptyRDD()).collect(), sc.emptyRDD().join(left).collect()


@case("join", order="sorted")
def join_on_none(sc):
    left = sc.parallelize([(None, 1), ("a", 2)], 2)
    return left.join(sc.parallelize([(None, 3), ("b", 4)], 2)).collect()


@case("join")
def join_on_equal_keys_of_other_types(sc):
    left = sc.parallelize([(1, "int"), (2.0, "float"), (True, "bool")], 2)
    right = sc.parallelize([(1.0, "x"), (2, "y")], 2)
    return sorted(left.join(right).values().collect())


@case("join", order="sorted")
def join_keeps_none_values(sc):
    left = sc.parallelize([("a", None)], 1)
    return left.join(sc.parallelize([("a", None), ("a", 0)], 1)).collect()


@case("join")
def join_number_of_partitions(sc):
    left, right = two(sc, 2, 3)
    return (
        left.join(right).getNumPartitions(),
        left.join(right, 1).getNumPartitions(),
        left.join(other=right, numPartitions=7).getNumPartitions(),
    )


@case("join")
def join_with_a_list_fails(sc):
    return fails(lambda: sc.parallelize(LEFT, 1).join(RIGHT))


@case("join", order="layout")
def join_layout_of_int_keys(sc):
    left = sc.parallelize([(n, n) for n in range(6)], 2)
    right = sc.parallelize([(n, -n) for n in range(0, 6, 2)], 2)
    return left.join(right, 3).glom().collect()


@case("leftOuterJoin", order="sorted")
def left_outer_join(sc):
    left, right = two(sc)
    return left.leftOuterJoin(right).collect()


@case("leftOuterJoin", order="sorted")
def left_outer_join_with_nothing(sc):
    return sc.parallelize(LEFT, 2).leftOuterJoin(sc.emptyRDD()).collect()


@case("leftOuterJoin")
def left_outer_join_number_of_partitions(sc):
    left, right = two(sc, 2, 3)
    return (
        left.leftOuterJoin(right).getNumPartitions(),
        left.leftOuterJoin(right, 4).getNumPartitions(),
    )


@case("rightOuterJoin", order="sorted")
def right_outer_join(sc):
    left, right = two(sc)
    return left.rightOuterJoin(right).collect()


@case("rightOuterJoin", order="sorted")
def right_outer_join_of_nothing(sc):
    return sc.emptyRDD().rightOuterJoin(sc.parallelize(RIGHT, 2)).collect()


@case("rightOuterJoin")
def right_outer_join_number_of_partitions(sc):
    left, right = two(sc, 2, 3)
    return (
        left.rightOuterJoin(right).getNumPartitions(),
        left.rightOuterJoin(right, numPartitions=4).getNumPartitions(),
    )


@case("fullOuterJoin", order="sorted")
def full_outer_join(sc):
    left, right = two(sc)
    return left.fullOuterJoin(right).collect()


@case("fullOuterJoin")
def full_outer_join_number_of_partitions(sc):
    left, right = two(sc, 2, 3)
    return (
        left.fullOuterJoin(right).getNumPartitions(),
        left.fullOuterJoin(right, 4).getNumPartitions(),
    )


@case("fullOuterJoin")
def full_outer_join_of_nothing(sc):
    return sc.emptyRDD().fullOuterJoin(sc.emptyRDD()).collect()


@case("cogroup", order="sorted")
def cogroup_of_two(sc):
    left, right = two(sc)
    return grouped(left.cogroup(right))


@case("cogroup")
def cogroup_gives_a_tuple_of_result_iterables(sc):
    left, right = two(sc)
    held = dict(left.cogroup(right).collect())["b"]
    return type(held).__name__, [type(each).__name__ for each in held], [len(each) for each in held]


@case("cogroup")
def cogroup_number_of_partitions(sc):
    left, right = two(sc, 2, 3)
    return (
        left.cogroup(right).getNumPartitions(),
        left.cogroup(right, numPartitions=4).getNumPartitions(),
    )


@case("cogroup")
def cogroup_with_nothing(sc):
    return grouped(sc.parallelize([("a", 1)], 1).cogroup(sc.parallelize([], 1)))


@case("cogroup", order="sorted")
def cogroup_with_itself(sc):
    left = sc.parallelize(LEFT, 2)
    return grouped(left.cogroup(left))


@case("groupWith", order="sorted")
def group_with_three_others(sc):
    left, right = two(sc)
    third = sc.parallelize([("b", 42)], 1)
    return grouped(left.groupWith(right, third, left))


@case("groupWith", order="sorted")
def group_with_one_other_is_cogroup(sc):
    left, right = two(sc)
    return grouped(left.groupWith(right))


@case("groupWith")
def group_with_no_other_fails(sc):
    return outcome(lambda: sc.parallelize(LEFT, 2).groupWith())


@case("groupWith")
def group_with_number_of_partitions(sc):
    left, right = two(sc, 2, 3)
    return left.groupWith(right, right).getNumPartitions()


@case("join", "partitionBy", order="sorted")
def join_of_co_partitioned_rdds(sc):
    left, right = (rdd.partitionBy(3) for rdd in two(sc))
    return left.join(right).collect()


@case("join", "partitionBy", order="sorted")
def join_of_rdds_partitioned_by_other_functions(sc):
    left = sc.parallelize([(n, n) for n in range(6)], 2).partitionBy(3, lambda key: key)
    right = sc.parallelize([(n, -n) for n in range(6)], 2).partitionBy(3, lambda key: key + 1)
    return left.join(right).collect()


@case("cogroup", "partitionBy", order="sorted")
def cogroup_of_partitioned_and_plain(sc):
    left, right = two(sc)
    return grouped(left.partitionBy(4).cogroup(right))
