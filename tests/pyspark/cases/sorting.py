"""Sorting over and within partitions."""

from tests.pyspark.registry import case, outcome

PAIRS = [("b", 2), ("a", 1), ("d", 4), ("1", 3), ("2", 5), ("c", 6)]
WORDS = ["Mary", "had", "a", "little", "lamb", "whose", "fleece", "was", "white"]


@case("sortByKey")
def sort_by_key(sc):
    return sc.parallelize(PAIRS, 3).sortByKey().collect()


@case("sortByKey")
def sort_by_key_descending(sc):
    return sc.parallelize(PAIRS, 3).sortByKey(ascending=False).collect()


@case("sortByKey")
def sort_by_key_layout(sc):
    pairs = [(n, None) for n in (5, 3, 9, 1, 7, 2, 8, 0, 6, 4)]
    rdd = sc.parallelize(pairs, 3)
    return (
        rdd.sortByKey(numPartitions=3).keys().glom().collect(),
        rdd.sortByKey(False, 3).keys().glom().collect(),
        rdd.sortByKey(True, 1).keys().glom().collect(),
    )


@case("sortByKey")
def sort_by_key_layout_of_duplicates(sc):
    pairs = [(n % 3, n) for n in range(12)]
    return sc.parallelize(pairs, 2).sortByKey(True, 4).keys().glom().collect()


@case("sortByKey")
def sort_by_key_with_a_key_function(sc):
    pairs = [(word, len(word)) for word in WORDS]
    return sc.parallelize(pairs, 3).sortByKey(True, 1, keyfunc=lambda k: k.lower()).collect()


@case("sortByKey")
def sort_by_key_with_a_key_function_over_partitions(sc):
    pairs = [(n, n) for n in range(-5, 6)]
    rdd = sc.parallelize(pairs, 2).sortByKey(numPartitions=2, keyfunc=lambda k: k * 1.0)
    return rdd.keys().glom().collect()


@case("sortByKey")
def sort_by_key_number_of_partitions(sc):
    rdd = sc.parallelize(PAIRS, 3)
    return rdd.sortByKey().getNumPartitions(), rdd.sortByKey(numPartitions=5).getNumPartitions()


@case("sortByKey")
def sort_by_key_of_nothing(sc):
    rdd = sc.parallelize([], 3)
    return rdd.sortByKey(numPartitions=2).glom().collect(), sc.emptyRDD().sortByKey().collect()


@case("sortByKey")
def sort_by_key_keeps_the_order_of_ties(sc):
    pairs = [(1, "a"), (0, "b"), (1, "c"), (0, "d")]
    rdd = sc.parallelize(pairs, 1)
    return rdd.sortByKey(numPartitions=1).collect(), rdd.sortByKey(False, 1).collect()


@case("sortByKey")
def sort_by_key_of_mixed_types_fails(sc):
    rdd = sc.parallelize([(1, 1), ("a", 2)], 2)
    return outcome(lambda: rdd.sortByKey(), lambda r: r.collect())


@case("sortByKey")
def sort_by_key_counts_at_once(sc):
    seen = sc.accumulator(0)

    def see(pair):
        seen.add(1)
        return pair

    sc.parallelize([(2, 1), (1, 1)], 2).map(see).sortByKey()
    return seen.value > 0


@case("sortByKey")
def sort_by_key_of_many_records_layout(sc):
    rdd = sc.parallelize([(n * 7919 % 1000, n) for n in range(1000)], 4).sortByKey(True, 3)
    return (
        rdd.keys()
        .mapPartitions(lambda rows: [list(rows)])
        .map(lambda rows: (rows[0], rows[-1], len(rows), rows == sorted(rows)))
        .collect()
    )


@case("sortBy")
def sort_by_value(sc):
    return sc.parallelize(PAIRS, 3).sortBy(lambda pair: pair[1]).collect()


@case("sortBy")
def sort_by_descending_in_partitions(sc):
    rdd = sc.parallelize(range(10), 3)
    ordered = rdd.sortBy(keyfunc=lambda x: x % 5, ascending=False, numPartitions=2)
    return ordered.map(lambda x: x % 5).glom().collect()


@case("sortBy")
def sort_by_ties_in_one_partition(sc):
    return sc.parallelize(["bb", "a", "cc", "d"], 1).sortBy(len, numPartitions=1).collect()


@case("sortBy")
def sort_by_ties_descending(sc):
    return sc.parallelize(["bb", "a", "cc", "d"], 1).sortBy(len, False, 1).collect()


@case("sortBy")
def sort_by_of_nothing(sc):
    return sc.parallelize([], 2).sortBy(lambda x: x).collect()


@case("sortBy")
def sort_by_number_of_partitions(sc):
    rdd = sc.parallelize(range(9), 3)
    return rdd.sortBy(lambda x: x).getNumPartitions(), rdd.sortBy(str, True, 2).getNumPartitions()


@case("sortBy")
def sort_by_tuples_and_unicode(sc):
    rows = [("é", 2), ("e", 3), ("é", 1), ("z", 0)]
    return sc.parallelize(rows, 2).sortBy(lambda row: row).collect()


@case("repartitionAndSortWithinPartitions")
def repartition_and_sort(sc):
    pairs = [(0, 5), (3, 8), (2, 6), (0, 8), (3, 8), (1, 3)]
    rdd = sc.parallelize(pairs, 2)
    return (
        rdd.repartitionAndSortWithinPartitions(2, lambda key: key % 2, True).keys().glom().collect()
    )


@case("repartitionAndSortWithinPartitions")
def repartition_and_sort_descending(sc):
    rdd = sc.parallelize([(n, None) for n in range(8)], 2)
    sorted_rdd = rdd.repartitionAndSortWithinPartitions(
        numPartitions=3, partitionFunc=lambda key: key, ascending=False
    )
    return sorted_rdd.keys().glom().collect()


@case("repartitionAndSortWithinPartitions")
def repartition_and_sort_with_a_key_function(sc):
    rdd = sc.parallelize([(n, None) for n in range(-4, 5)], 2)
    sorted_rdd = rdd.repartitionAndSortWithinPartitions(2, lambda key: key, keyfunc=lambda k: -k)
    return sorted_rdd.keys().glom().collect()


@case("repartitionAndSortWithinPartitions")
def repartition_and_sort_by_default(sc):
    rdd = sc.parallelize([(n, None) for n in (7, 3, 5, 2, 4)], 3)
    return rdd.repartitionAndSortWithinPartitions().keys().glom().collect()


@case("repartitionAndSortWithinPartitions")
def repartition_and_sort_of_nothing(sc):
    return sc.parallelize([], 2).repartitionAndSortWithinPartitions(3).glom().collect()
