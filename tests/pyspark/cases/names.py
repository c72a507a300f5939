"""Names, ids and descriptions of RDDs."""

from tests.pyspark.api import submodule
from tests.pyspark.registry import case


@case("name", "setName")
def names_are_set(sc):
    rdd = sc.parallelize([1], 1).map(str)
    before = rdd.name()
    returned = rdd.setName("letters é")
    return before, returned is rdd, rdd.name()


@case("name")
def names_of_sources(sc, folder):
    (folder / "a.txt").write_text("a\n")
    return (
        sc.parallelize([1], 1).name(),
        sc.textFile(f"{folder}/a.txt").name() == f"{folder}/a.txt",
        sc.range(3).name(),
    )


@case("setName")
def name_may_be_given_by_keyword(sc):
    return sc.parallelize([1], 1).setName(name="mine").name()


@case("name")
def names_are_not_inherited(sc):
    return sc.parallelize([1], 1).setName("parent").map(str).name()


@case("id")
def ids_are_unique_and_kept(sc):
    rdd = sc.parallelize([1], 1)
    child = rdd.map(str)
    return (
        type(rdd.id()).__name__,
        rdd.id() == rdd.id(),
        rdd.id() < child.id(),
        child.id() == child.id(),
    )


@case("toDebugString")
def debug_string_is_bytes_with_the_number_of_partitions(sc):
    text = sc.parallelize([1], 3).map(str).toDebugString()
    return type(text).__name__, text.startswith(b"(3) ")


@case("toDebugString")
def debug_string_shows_shuffles_by_indentation(sc):
    rdd = sc.parallelize([(1, 1)], 2).reduceByKey(max, 3)
    lines = rdd.toDebugString().decode().splitlines()
    return lines[0].startswith("(3) "), any(line.lstrip(" |").startswith("+-(2)") for line in lines)


@case("toDebugString", "setName")
def debug_string_shows_names(sc):
    return b"my numbers" in sc.parallelize([1], 1).setName("my numbers").map(str).toDebugString()


@case("toDebugString", "cache")
def debug_string_shows_storage(sc):
    rdd = sc.parallelize([1], 1).map(str).cache()
    return b"[Memory Serialized 1x Replicated]" in rdd.toDebugString()


@case("id")
def rdd_classes_have_their_module(sc):
    return isinstance(sc.parallelize([1], 1).map(str), submodule("rdd").RDD)
