"""Classes and functions as keys."""

import math

from tests.pyspark.registry import case

ROWS = [1, "a", 2.0, None, b"x", (1,), [1], {}, set(), len] * 3


@case("distinct")
def distinct_types(sc):
    return sorted(kind.__name__ for kind in sc.parallelize(ROWS, 6).map(type).distinct().collect())


@case("groupBy")
def groups_by_type(sc):
    groups = sc.parallelize(ROWS, 6).groupBy(type).mapValues(len).collect()
    return sorted((kind.__name__, count) for kind, count in groups)


@case("distinct")
def distinct_builtin_functions(sc):
    functions = sc.parallelize([len, max, math.sin, str.upper, int.from_bytes] * 4, 6).distinct()
    return sorted(function.__name__ for function in functions.collect())


@case("join")
def joins_on_classes(sc):
    left = sc.parallelize([(int, 1), (str, 2)], 2)
    joined = left.join(sc.parallelize([(str, 3), (int, 4)], 3)).collect()
    return sorted((kind.__name__, pair) for kind, pair in joined)


@case("countByValue")
def counts_of_types(sc):
    counts = sc.parallelize(ROWS, 6).map(type).countByValue()
    return sorted((kind.__name__, count) for kind, count in counts.items())


@case("distinct")
def other_single_objects(sc):
    rows = sc.parallelize([..., NotImplemented, list[int], int | str] * 3, 4).distinct()
    return sorted(map(repr, rows.collect()))
