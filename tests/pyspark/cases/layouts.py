"""Which partition a key goes to: PySpark's portable hash."""

from tests.pyspark.api import submodule
from tests.pyspark.registry import case, outcome


def layout(sc, keys, partitions):
    return (
        sc.parallelize([(key, None) for key in keys], 1)
        .partitionBy(partitions)
        .keys()
        .glom()
        .collect()
    )


@case("partitionBy", order="layout")
def layout_of_ints(sc):
    return layout(sc, [0, 1, 2, 3, 10, 99, -1, -2, -5, 2**40, 2**61 - 1, 2**70], 4)


@case("partitionBy", order="layout")
def layout_of_bools_and_none(sc):
    return layout(sc, [True, False, None], 3)


@case("partitionBy", order="layout")
def layout_of_floats(sc):
    return layout(sc, [0.0, 1.0, 1.5, -2.25, 1e20, 3.14159], 4)


@case("partitionBy", order="layout")
def layout_of_strings(sc):
    return layout(sc, ["", "a", "b", "c", "spark", "é", "日本", "a longer string of words"], 4)


@case("partitionBy", order="layout")
def layout_of_bytes(sc):
    return layout(sc, [b"", b"a", b"b", b"\xff\x00"], 3)


@case("partitionBy", order="layout")
def layout_of_tuples_of_ints(sc):
    return layout(sc, [(), (1,), (1, 2), (2, 1), (None, 1), (0, (1, 2))], 4)


@case("partitionBy", order="layout")
def layout_of_tuples_of_strings(sc):
    return layout(sc, [("a", 1), ("b", 1), ("a", "b"), ("é",)], 4)


@case("reduceByKey", order="layout")
def layout_of_word_counts(sc):
    words = ["the", "cat", "sat", "on", "the", "mat", "with", "the", "other", "cat"]
    return (
        sc.parallelize(words, 2).map(lambda w: (w, 1)).reduceByKey(int.__add__, 3).glom().collect()
    )


@case("partitionBy", context="none")
def portable_hash_of_plain_values():
    portable_hash = submodule("rdd").portable_hash
    values = [None, 0, 1, -1, 7, 2**64, True, 1.5, (), (1,), (1, 2), (None, 1), ((1, 2), 3)]
    return [portable_hash(value) for value in values]


@case("partitionBy", context="none")
def portable_hash_of_a_list_fails():
    portable_hash = submodule("rdd").portable_hash
    return outcome(lambda: portable_hash([1])), outcome(lambda: portable_hash(([1],)))
