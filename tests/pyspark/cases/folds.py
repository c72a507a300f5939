"""Actions that fold records into one value."""

from operator import add, mul

from tests.pyspark.registry import case, outcome


@case("reduce")
def reduce_adds(sc):
    rdd = sc.parallelize([1, 2, 3, 4, 5], 3)
    return rdd.reduce(add), rdd.reduce(f=lambda a, b: max(a, b))


@case("reduce")
def reduce_in_the_order_of_partitions(sc):
    return sc.parallelize("abcdef", 3).reduce(add)


@case("reduce")
def reduce_skips_empty_partitions(sc):
    return sc.parallelize([7], 4).reduce(add)


@case("reduce")
def reduce_of_nothing(sc):
    return (
        outcome(lambda: sc.parallelize([], 2).reduce(add)),
        outcome(lambda: sc.emptyRDD().reduce(add)),
    )


@case("treeReduce")
def tree_reduce(sc):
    rdd = sc.parallelize([-5, -4, -3, -2, -1, 1, 2, 3, 4], 10)
    return [rdd.treeReduce(add, depth) for depth in (1, 2, 3, 10)]


@case("treeReduce")
def tree_reduce_of_empty_partitions(sc):
    return sc.parallelize([3, 4], 8).treeReduce(mul, depth=3)


@case("treeReduce")
def tree_reduce_errors(sc):
    return (
        outcome(lambda: sc.parallelize([], 3).treeReduce(add)),
        outcome(lambda: sc.parallelize([1], 3).treeReduce(add, 0)),
    )


@case("fold")
def fold_adds(sc):
    return sc.parallelize([1, 2, 3, 4, 5], 2).fold(0, add)


@case("fold")
def fold_uses_zero_once_per_partition_and_once_more(sc):
    return sc.parallelize([1, 2], 3).fold(100, add)


@case("fold")
def fold_in_the_order_of_partitions(sc):
    return sc.parallelize("abcd", 2).fold(">", add)


@case("fold")
def fold_of_nothing(sc):
    return sc.emptyRDD().fold(5, add), sc.parallelize([], 2).fold(zeroValue=5, op=add)


@case("fold")
def fold_hands_the_accumulated_value_first(sc):
    return sc.parallelize([1, 2, 3], 1).fold((), lambda held, x: (held, x))


@case("fold")
def fold_copies_a_mutable_zero(sc):
    def extend(held, rows):
        held.extend(rows)
        return held

    rdd = sc.parallelize([[1], [2], [3]], 3)
    return rdd.fold([], extend), rdd.fold([], extend)


@case("aggregate")
def aggregate_sum_and_count(sc):
    rdd = sc.parallelize([1, 2, 3, 4], 2)
    return rdd.aggregate(
        (0, 0), lambda u, x: (u[0] + x, u[1] + 1), lambda a, b: (a[0] + b[0], a[1] + b[1])
    )


@case("aggregate")
def aggregate_of_nothing(sc):
    return sc.emptyRDD().aggregate((0, 0), None, None), sc.parallelize([], 2).aggregate(
        "", add, add
    )


@case("aggregate")
def aggregate_uses_zero_once_per_partition_and_once_more(sc):
    return sc.parallelize([1, 2, 3], 3).aggregate(zeroValue=10, seqOp=add, combOp=add)


@case("aggregate")
def aggregate_in_the_order_of_partitions(sc):
    rdd = sc.parallelize("abcd", 2)
    return rdd.aggregate([], lambda held, x: [*held, x], lambda a, b: [*a, *b])


@case("treeAggregate")
def tree_aggregate(sc):
    rdd = sc.parallelize([-5, -4, -3, -2, -1, 1, 2, 3, 4], 10)
    return [rdd.treeAggregate(0, add, add, depth) for depth in (1, 2, 5, 10)]


@case("treeAggregate")
def tree_aggregate_of_nothing(sc):
    return (
        outcome(lambda: sc.emptyRDD().treeAggregate(3, add, add)),
        outcome(lambda: sc.parallelize([], 2).treeAggregate(3, add, add)),
        outcome(lambda: sc.parallelize([1], 2).treeAggregate(3, add, add, depth=0)),
    )


@case("treeAggregate")
def tree_aggregate_uses_zero_once_per_partition(sc):
    return sc.parallelize([1, 2], 4).treeAggregate(zeroValue=10, seqOp=add, combOp=add, depth=2)


@case("countByValue")
def count_by_value_is_a_default_dict(sc):
    counts = sc.parallelize([1, 2, 1, 2, 2, None], 3).countByValue()
    return type(counts).__name__, dict(counts), counts["absent"]


@case("countByValue")
def count_by_value_of_nothing(sc):
    return (
        outcome(lambda: dict(sc.emptyRDD().countByValue())),
        dict(sc.parallelize([], 2).countByValue()),
    )


@case("countByValue")
def count_by_value_of_equal_numbers(sc):
    return dict(sc.parallelize([1, 1.0, True], 1).countByValue())


@case("max", "min")
def max_and_min(sc):
    rdd = sc.parallelize([1.0, 5.0, 43.0, 10.0, -3], 3)
    return rdd.max(), rdd.min(), rdd.max(key=str), rdd.min(key=lambda x: -x)


@case("max", "min")
def max_and_min_of_nothing(sc):
    rdd = sc.parallelize([], 2)
    return outcome(lambda: rdd.max()), outcome(lambda: rdd.min())


@case("max", "min")
def max_and_min_of_ties(sc):
    rdd = sc.parallelize(["bb", "aa", "cc", "d", "e"], 1)
    return rdd.max(len), rdd.min(len)


@case("max")
def max_of_ties_over_partitions(sc):
    return sc.parallelize(["bb", "aa", "cc"], 3).max(key=len)
