"""Records paired by position or numbered."""

from tests.pyspark.registry import case, outcome


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
