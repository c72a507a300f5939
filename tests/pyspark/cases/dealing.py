"""Which rows parallelize deals to which partition."""

from collections import deque

import numpy
from tests.pyspark.registry import case

SIZES = [0, 1, 2, 3, 5, 7, 8, 9, 16, 17, 33, 50, 99, 100, 101, 1000, 1025, 2049, 5000, 10_240]


def lengths(rdd):
    return rdd.glom().map(len).collect()


@case("sc.parallelize")
def lists_in_three_slices(sc):
    return {size: lengths(sc.parallelize(list(range(size)), 3)) for size in SIZES}


@case("sc.parallelize")
def lists_in_seven_slices(sc):
    return {size: lengths(sc.parallelize(list(range(size)), 7)) for size in SIZES}


@case("sc.parallelize")
def lists_in_more_slices_than_rows(sc):
    return {size: lengths(sc.parallelize(list(range(size)), 12)) for size in (0, 1, 5, 11, 12, 13)}


@case("sc.parallelize")
def rows_of_unequal_slices(sc):
    return sc.parallelize(list(range(11)), 4).glom().collect()


@case("sc.parallelize")
def generators(sc):
    return {size: lengths(sc.parallelize((n for n in range(size)), 4)) for size in (0, 3, 99, 4097)}


@case("sc.parallelize")
def ranges(sc):
    return {size: lengths(sc.parallelize(range(size), 4)) for size in (0, 3, 99, 4097)}


@case("sc.range")
def range_of_the_context(sc):
    return lengths(sc.range(99, numSlices=4)), lengths(sc.range(99))


@case("sc.parallelize")
def other_collections(sc):
    rows = [*range(11)]
    return [
        lengths(sc.parallelize(kind, 4))
        for kind in (tuple(rows), set(rows), dict.fromkeys(rows), deque(rows), "elevenchars")
    ] + [
        lengths(sc.parallelize(zip(rows, rows, strict=True), 4)),
        lengths(sc.parallelize(numpy.arange(11), 4)),
        lengths(sc.parallelize(numpy.ones((11, 2)), 4)),
    ]


@case("sc.parallelize", context="fresh", conf={"spark.default.parallelism": "5"})
def by_default_parallelism(sc):
    return lengths(sc.parallelize(list(range(99)))), lengths(sc.parallelize(range(99)))


@case("sc.parallelize", "mapPartitionsWithIndex")
def seen_by_index(sc):
    rdd = sc.parallelize(list("abcdefghijk"), 4)
    return rdd.mapPartitionsWithIndex(lambda index, rows: [(index, "".join(rows))]).collect()


@case("sc.parallelize", "zipWithIndex", "zipWithUniqueId")
def seen_by_numbers(sc):
    rdd = sc.parallelize(list("abcdefghijk"), 4)
    return rdd.zipWithIndex().collect(), rdd.zipWithUniqueId().collect()


@case("sc.parallelize", "zip")
def zips_need_alike_dealings(sc):
    return sc.parallelize(list("abcdefghijk"), 4).zip(sc.parallelize(tuple(range(11)), 4)).collect()
