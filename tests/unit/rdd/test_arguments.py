"""Arguments of the wrong type are refused at the call, by the name of the method called."""

import re

import pytest

from pyrite import RDD, SparkContext, StorageLevel
from pyrite.driver.api.jobs import JobMethods


@pytest.fixture(scope="module")
def sc():
    with SparkContext("local[1]", "arguments") as context:
        yield context


@pytest.fixture
def rdd(sc: SparkContext) -> RDD:
    return sc.parallelize([(1, 2), (3, 4)], 2)


@pytest.fixture(autouse=True)
def no_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job would mean that the mistake was found too late."""

    def refuse(*_: object) -> None:
        raise AssertionError("a job was run")

    monkeypatch.setattr(JobMethods, "_run", refuse)


FUNCTIONS = {
    "map": lambda r: r.map(5),
    "flatMap": lambda r: r.flatMap(5),
    "filter": lambda r: r.filter(5),
    "keyBy": lambda r: r.keyBy(5),
    "mapPartitions": lambda r: r.mapPartitions(5),
    "mapPartitionsWithIndex": lambda r: r.mapPartitionsWithIndex(5),
    "groupBy": lambda r: r.groupBy(5),
    "sortBy": lambda r: r.sortBy(5),
    "sortByKey": lambda r: r.sortByKey(True, 2, 5),
    "mapValues": lambda r: r.mapValues(5),
    "flatMapValues": lambda r: r.flatMapValues(5),
    "reduceByKey": lambda r: r.reduceByKey(5),
    "combineByKey": lambda r: r.combineByKey(list, list, 5),
    "aggregateByKey": lambda r: r.aggregateByKey(0, 5, max),
    "foldByKey": lambda r: r.foldByKey(0, 5),
    "partitionBy": lambda r: r.partitionBy(2, 5),
    "groupByKey": lambda r: r.groupByKey(2, 5),
    "repartitionAndSortWithinPartitions": lambda r: r.repartitionAndSortWithinPartitions(
        2, keyfunc=5
    ),
}


@pytest.mark.parametrize("method", FUNCTIONS)
def test_what_is_no_function_is_refused(rdd: RDD, method: str) -> None:
    with pytest.raises(TypeError, match=rf"^{method} needs a function, not 5 \(.*type int\)$"):
        FUNCTIONS[method](rdd)


def test_a_barrier_names_its_method_too(rdd: RDD) -> None:
    with pytest.raises(TypeError, match=r"^mapPartitions needs a function, not None$"):
        rdd.barrier().mapPartitions(None)


OTHERS = [
    *("union", "__add__", "intersection", "subtract", "cartesian", "zip", "join", "leftOuterJoin"),
    *("rightOuterJoin", "fullOuterJoin", "cogroup", "groupWith", "subtractByKey"),
]


@pytest.mark.parametrize("method", OTHERS)
def test_what_is_no_rdd_is_refused(rdd: RDD, method: str) -> None:
    with pytest.raises(TypeError, match=rf"^{method} needs an RDD, not \[1\].*sc.parallelize$"):
        getattr(rdd, method)([1])


def test_a_union_of_lists_is_refused(sc: SparkContext) -> None:
    with pytest.raises(TypeError, match=r"^union needs an RDD"):
        sc.union([[1], [2]])


@pytest.mark.parametrize("level", ["MEMORY_ONLY", None, 3])
def test_a_storage_level_by_name_is_refused(rdd: RDD, level: object) -> None:
    with pytest.raises(TypeError, match=r"must be of type StorageLevel.*StorageLevel\.MEMORY_ONLY"):
        rdd.persist(level)
    assert rdd.getStorageLevel() == StorageLevel.NONE and not rdd.is_cached


@pytest.mark.parametrize("method", ["take", "top", "takeOrdered"])
@pytest.mark.parametrize("number", ["2", 2.0, None])
def test_a_number_of_rows_that_is_not_whole_is_refused(
    rdd: RDD, method: str, number: object
) -> None:
    with pytest.raises(TypeError, match=rf"^{method}: num must be an int, not "):
        getattr(rdd, method)(number)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.sample(False, 0.5, "a"), "sample: seed must be an int, not 'a'"),
        (lambda r: r.setName(5), "setName: name must be a str, not 5"),
        (lambda r: r.pipe(["cat"]), "pipe: command must be a str, not ['cat']"),
        (lambda r: r.pipe("cat", 5), "pipe: env must be a dict, not 5"),
    ],
)
def test_other_arguments_are_refused_at_the_call(rdd: RDD, call, message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        call(rdd)


def test_a_long_value_is_shortened_in_the_message(rdd: RDD) -> None:
    with pytest.raises(TypeError, match=r"not \[0, 1, .{0,40}\.\.\. \(a value of type list\)$"):
        rdd.map(list(range(1000)))
