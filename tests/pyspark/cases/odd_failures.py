"""Errors in odd places: partitioners, comparators, equality, hashes, pickling, iterators."""

from tests.pyspark.api import api
from tests.pyspark.odd_values import NoEquality, NoHash, NoPickle, NoUnpickle
from tests.pyspark.raised import Oops
from tests.pyspark.tables import add_programs


def oops(*given):
    raise Oops("here")


def key_error(*given):
    raise KeyError("missing")


def stop(*given):
    raise StopIteration


def leave(*given):
    raise SystemExit(3)


class Silent(Exception):
    """Neither shown nor pickled."""

    def __str__(self):
        raise ValueError("no message")

    def __reduce__(self):
        raise ValueError("not pickled")


def silent(*given):
    raise Silent


class NeedsTwo(Exception):
    """Can't be unpickled from its arguments."""

    def __init__(self, one, two):
        super().__init__(one)


def needs_two(*given):
    raise NeedsTwo(1, 2)


def chained(*given):
    try:
        key_error()
    except KeyError as error:
        raise Oops("with a cause") from error


def group(*given):
    raise ExceptionGroup("two", [Oops("first"), KeyError("second")])


def exists_not(*given):
    return open("/no/such/file")


ERRORS = {
    each.__name__: lambda each=each: each
    for each in (*(oops, key_error, stop, leave, silent, needs_two, chained, group, exists_not),)
}


def pairs(sc):
    return sc.parallelize([(2, 1), (1, 2), (2, 3)], 2)


def after_some(rows, bad):
    yield next(iter(rows))
    bad()


class Adding(api.AccumulatorParam):
    def __init__(self, bad):
        self.bad = bad

    def zero(self, value):
        return value

    def addInPlace(self, left, right):
        return self.bad(left, right)


def accumulating(sc, folder, bad):
    total = sc.accumulator(0, Adding(bad))
    pairs(sc).foreach(lambda row: total.add(1))
    return total.value


PLACES = {
    "map": lambda sc, folder, bad: pairs(sc).map(bad).collect(),
    "filter": lambda sc, folder, bad: pairs(sc).filter(bad).count(),
    "mapPartitions": lambda sc, folder, bad: pairs(sc).mapPartitions(bad).collect(),
    "inside_a_generator": lambda sc, folder, bad: (
        pairs(sc).mapPartitions(lambda rows: after_some(rows, bad)).collect()
    ),
    "partitioner": lambda sc, folder, bad: pairs(sc).partitionBy(2, bad).collect(),
    "key_of_a_sort": lambda sc, folder, bad: pairs(sc).sortBy(bad).collect(),
    "key_of_one_partition": lambda sc, folder, bad: pairs(sc).sortBy(bad, True, 1).collect(),
    "key_of_top": lambda sc, folder, bad: pairs(sc).top(1, bad),
    "combiner": lambda sc, folder, bad: pairs(sc).coalesce(1).reduceByKey(bad).collect(),
    "reduce": lambda sc, folder, bad: pairs(sc).reduce(bad),
    "accumulator": accumulating,
    "saveAsTextFile": lambda sc, folder, bad: (
        pairs(sc).map(bad).saveAsTextFile(str(folder / "out"))
    ),
    "cached": lambda sc, folder, bad: pairs(sc).map(bad).cache().count(),
}

IN_THE_DRIVER = {
    "merge_in_the_driver": lambda sc, folder, bad: pairs(sc).aggregate(0, lambda a, b: 1, bad),
    "fold_in_the_driver": lambda sc, folder, bad: sc.parallelize([1], 1).fold(0, bad),
}
# That would end the driver, as it should.
DRIVER_ERRORS = {name: make for name, make in ERRORS.items() if name != "leave"}

OBJECTS = {
    "no_equality": lambda: NoEquality,
    "no_hash": lambda: NoHash,
    "no_pickle": lambda: NoPickle,
    "no_unpickle": lambda: NoUnpickle,
}


def made(sc, kind):
    """Rows that tasks make, so that the driver never sees them."""
    return sc.parallelize([1, 1, 2], 2).map(lambda x: kind())


MADE = {
    "count": lambda sc, folder, kind: made(sc, kind).count(),
    "collect": lambda sc, folder, kind: made(sc, kind).map(str).count(),
    "results": lambda sc, folder, kind: len(made(sc, kind).collect()),
    "first": lambda sc, folder, kind: type(made(sc, kind).first()).__name__,
    "shuffle_as_values": lambda sc, folder, kind: (
        made(sc, kind).map(lambda x: (1, x)).groupByKey(2).mapValues(len).collect()
    ),
    "shuffle_as_keys": lambda sc, folder, kind: (
        made(sc, kind).map(lambda x: (x, 1)).groupByKey(2).values().map(len).collect()
    ),
    "distinct": lambda sc, folder, kind: made(sc, kind).distinct(1).count(),
    "cache": lambda sc, folder, kind: [made(sc, kind).cache().count() for _ in range(2)],
    "disk": lambda sc, folder, kind: (
        made(sc, kind).persist(api.StorageLevel.DISK_ONLY).map(str).count()
    ),
    "zip": lambda sc, folder, kind: made(sc, kind).zip(made(sc, kind)).count(),
    "repartition": lambda sc, folder, kind: made(sc, kind).repartition(2).count(),
    "sortBy": lambda sc, folder, kind: made(sc, kind).sortBy(lambda x: 1, True, 2).count(),
    "saveAsPickleFile": lambda sc, folder, kind: made(sc, kind).saveAsPickleFile(
        str(folder / "out")
    ),
    "saveAsTextFile": lambda sc, folder, kind: (
        made(sc, kind).map(lambda x: 1).saveAsTextFile(str(folder / "out"))
    ),
    "broadcast": lambda sc, folder, kind: broadcast(sc, kind()),
    "closure": lambda sc, folder, kind: captured(sc, kind()),
    "accumulator": lambda sc, folder, kind: sc.accumulator(kind()).value is None,
    "treeReduce": lambda sc, folder, kind: made(sc, kind).treeReduce(lambda a, b: a) is None,
    "checkpoint": lambda sc, folder, kind: checkpointed(made(sc, kind)).count(),
}


def broadcast(sc, value):
    shared = sc.broadcast(value)
    return sc.parallelize([1], 1).map(lambda x: shared.value is None).collect()


def captured(sc, value):
    return sc.parallelize([1], 1).map(lambda x: value is None).collect()


def checkpointed(rdd):
    rdd.localCheckpoint()
    return rdd


add_programs("odd_failures", PLACES, ERRORS)
add_programs("odd_failures", IN_THE_DRIVER, DRIVER_ERRORS)
add_programs("odd_failures", MADE, OBJECTS)
