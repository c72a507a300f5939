"""Errors: which kind, and at which moment."""

from functools import partial
from operator import add

from tests.pyspark.registry import case, fails, outcome


def at_action(rdd):
    return outcome(lambda: rdd, lambda r: r.collect())


@case("map")
def a_function_that_raises(sc):
    return at_action(sc.parallelize([1, 0], 2).map(lambda x: 1 / x))


@case("map")
def a_function_that_raises_leaves_the_context_usable(sc):
    failed = at_action(sc.parallelize([0], 1).map(lambda x: 1 / x))
    return failed, sc.parallelize([1, 2], 2).collect()


@case("map")
def a_function_that_raises_stop_iteration(sc):
    def stop(x):
        raise StopIteration

    rdd = sc.parallelize([1, 2], 1)
    return [
        at_action(rdd.map(stop)),
        at_action(rdd.filter(stop)),
        at_action(rdd.flatMap(stop)),
        at_action(rdd.keyBy(stop)),
        outcome(lambda: rdd.foreach(stop)),
        outcome(lambda: rdd.reduce(lambda a, b: stop(a))),
        at_action(sc.parallelize([(1, 1), (1, 2)], 1).reduceByKey(lambda a, b: stop(a))),
    ]


@case("mapPartitions")
def a_generator_that_ends_early_is_no_error(sc):
    def one(rows):
        yield next(iter(rows))

    return sc.parallelize(range(4), 2).mapPartitions(one).collect()


@case("map")
def a_function_that_exits(sc):
    def leave(x):
        raise SystemExit(1)

    return at_action(sc.parallelize([1], 1).map(leave))


@case("map")
def the_context_inside_a_task(sc):
    return outcome(
        lambda: sc.parallelize([1], 1).map(lambda x: sc.parallelize([x]).count()),
        lambda r: r.collect(),
    )


@case("map")
def an_rdd_inside_a_task(sc):
    other = sc.parallelize([1], 1)
    return outcome(
        lambda: sc.parallelize([1], 1).map(lambda x: other.count()), lambda r: r.collect()
    )


@case("sc.broadcast")
def an_rdd_in_a_broadcast(sc):
    rdd = sc.parallelize([1], 1)
    return outcome(lambda: sc.broadcast(rdd)), outcome(lambda: sc.broadcast(sc))


@case("map")
def a_lock_inside_a_task(sc):
    import threading

    lock = threading.Lock()
    return outcome(
        lambda: sc.parallelize([1], 1).map(lambda x: lock.locked()), lambda r: r.collect()
    )


@case("collect")
def a_result_that_can_not_be_pickled(sc):
    return at_action(sc.parallelize([1], 1).map(lambda x: (n for n in [x])))


@case("sc.parallelize")
def records_that_can_not_be_pickled(sc):
    return outcome(lambda: sc.parallelize([(n for n in [1])], 1), lambda r: r.collect())


@case("map")
def missing_arguments(sc):
    rdd = sc.parallelize([(1, 1)], 1)
    return [
        outcome(lambda: rdd.map()),
        outcome(lambda: rdd.filter()),
        outcome(lambda: rdd.take()),
        outcome(lambda: rdd.join()),
        outcome(lambda: rdd.reduceByKey()),
        outcome(lambda: sc.textFile()),
        outcome(lambda: sc.parallelize()),
    ]


@case("map")
def a_function_that_is_none(sc):
    rdd = sc.parallelize([1], 1)
    return outcome(lambda: rdd.map(None).collect()), outcome(lambda: rdd.reduce(None))


@case("map")
def a_function_of_the_wrong_number_of_arguments(sc):
    rdd = sc.parallelize([1, 2], 1)
    return at_action(rdd.map(lambda a, b: a)), outcome(lambda: rdd.reduce(lambda a: a))


@case("union", "subtract", "intersection", "cartesian", "zip", "cogroup")
def partners_that_are_no_rdds(sc):
    rdd = sc.parallelize([(1, 1)], 1)
    return [
        fails(lambda: rdd.union([1])),
        fails(lambda: rdd.subtract([1])),
        fails(lambda: rdd.intersection([1])),
        fails(lambda: rdd.cartesian([1])),
        fails(lambda: rdd.zip([1])),
        fails(lambda: rdd.cogroup([1])),
        fails(lambda: sc.union([1])),
    ]


@case("reduceByKey", "groupByKey")
def numbers_where_pairs_are_needed(sc):
    rdd = sc.parallelize([1, 2], 1)
    return [
        at_action(rdd.groupByKey()),
        at_action(rdd.mapValues(str)),
        at_action(rdd.join(rdd)),
        at_action(rdd.partitionBy(2)),
        outcome(lambda: rdd.countByKey()),
        outcome(lambda: rdd.collectAsMap()),
        outcome(lambda: rdd.reduceByKeyLocally(add)),
    ]


@case("collect")
def rdds_can_not_be_iterated(sc):
    rdd = sc.parallelize([1], 1)
    return outcome(lambda: list(rdd)), outcome(lambda: len(rdd)), outcome(lambda: rdd[0])


@case("map")
def an_attribute_that_does_not_exist(sc):
    return outcome(lambda: sc.parallelize([1], 1).noSuchMethod), outcome(lambda: sc.noSuchMethod)


def stop(*_):
    raise StopIteration("of the user")


STOPPED = {
    "map": lambda r: r.map(stop).collect(),
    "filter": lambda r: r.filter(stop).collect(),
    "flatMap": lambda r: r.flatMap(stop).collect(),
    "mapPartitions": lambda r: r.mapPartitions(stop).collect(),
    "keyBy": lambda r: r.keyBy(stop).collect(),
    "groupBy": lambda r: r.groupBy(stop).collect(),
    "reduce": lambda r: r.reduce(stop),
    "fold": lambda r: r.fold(0, stop),
    "aggregate": lambda r: r.aggregate(0, max, stop),
    "treeReduce": lambda r: r.treeReduce(stop),
    "foreach": lambda r: r.foreach(stop),
    "reduceByKey": lambda r: r.map(lambda x: (1, x)).reduceByKey(stop).collect(),
    "combineByKey": lambda r: r.map(lambda x: (1, x)).combineByKey(stop, stop, stop).collect(),
    "mapValues": lambda r: r.map(lambda x: (1, x)).mapValues(stop).collect(),
    "partitionBy": lambda r: r.map(lambda x: (1, x)).partitionBy(2, stop).collect(),
    "sortBy": lambda r: r.sortBy(stop).collect(),
}


@case("map", "filter", "flatMap", "reduce", "reduceByKey", "partitionBy", "sortBy")
def stop_iteration_of_a_function_is_an_error(sc):
    rdd = sc.parallelize([1, 2], 2)
    return {name: fails(partial(call, rdd)) for name, call in STOPPED.items()}


@case("aggregate")
def stop_iteration_in_the_driver_is_an_error(sc):
    return outcome(lambda: sc.parallelize([1, 2], 2).aggregate(0, max, stop))
