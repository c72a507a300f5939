"""When a transformation's function is pickled: which value of a captured variable tasks see.

Each program changes what a function captured and asks again. `1` is the value at the beginning,
`2` the one after the change.
"""

import gc
import threading
from functools import partial
from operator import add

from tests.pyspark.registry import case, fails, outcome

FACTOR = 1


class Scale:
    """An object whose method is used as a function."""

    def __init__(self, factor):
        self.factor = factor

    def apply(self, x):
        return x * self.factor


class Variable:
    """An RDD whose only row is the value that its function sees in a task."""

    def __init__(self, sc, rows=(0,), slices=1):
        value = 1

        def change():
            nonlocal value
            value = 2

        self.change = change
        self.rdd = sc.parallelize(rows, slices).map(lambda _: value)


def sees(sc, act):
    """What `collect` gives when the variable changes after something was done with the RDD."""
    variable = Variable(sc)
    held = act(variable.rdd)
    variable.change()
    found = variable.rdd.collect()[0]
    del held
    return found


ACTIONS = {
    "nothing": lambda r: None,
    "collect": lambda r: r.collect(),
    "collectAsMap": lambda r: outcome(r.collectAsMap),
    "toLocalIterator": lambda r: r.toLocalIterator(),
    "count": lambda r: r.count(),
    "take": lambda r: r.take(1),
    "first": lambda r: r.first(),
    "isEmpty": lambda r: r.isEmpty(),
    "reduce": lambda r: r.reduce(add),
    "fold": lambda r: r.fold(0, add),
    "aggregate": lambda r: r.aggregate(0, add, add),
    "treeReduce": lambda r: r.treeReduce(add),
    "treeAggregate": lambda r: r.treeAggregate(0, add, add),
    "sum": lambda r: r.sum(),
    "stats": lambda r: r.stats(),
    "histogram": lambda r: r.histogram(2),
    "max": lambda r: r.max(),
    "top": lambda r: r.top(1),
    "takeOrdered": lambda r: r.takeOrdered(1),
    "takeSample": lambda r: r.takeSample(False, 1),
    "countByValue": lambda r: r.countByValue(),
    "foreach": lambda r: r.foreach(str),
    "foreachPartition": lambda r: r.foreachPartition(list),
    "runJob of some": lambda r: r.context.runJob(r, list, [0]),
}


@case("collect", "toLocalIterator", "take", "count", "reduce")
def which_actions_freeze(sc):
    return {name: sees(sc, act) for name, act in ACTIONS.items()}


@case("saveAsTextFile", "saveAsPickleFile")
def saving_does_not_freeze(sc, folder):
    return [
        sees(sc, lambda r: r.saveAsTextFile(f"{folder}/text")),
        sees(sc, lambda r: r.saveAsPickleFile(f"{folder}/rows")),
    ]


@case("persist", "cache", "checkpoint", "localCheckpoint", "setName", "getNumPartitions")
def keeping_and_naming_freeze(sc, folder):
    sc.setCheckpointDir(str(folder))
    return {
        "persist": sees(sc, lambda r: r.persist()),
        "cache": sees(sc, lambda r: r.cache()),
        "cache and unpersist": sees(sc, lambda r: r.cache().unpersist()),
        "checkpoint": sees(sc, lambda r: r.checkpoint()),
        "localCheckpoint": sees(sc, lambda r: r.localCheckpoint()),
        "setName": sees(sc, lambda r: r.setName("named")),
        "getNumPartitions": sees(sc, lambda r: r.getNumPartitions()),
    }


@case("id", "name", "toDebugString", "getStorageLevel", "isCheckpointed")
def asking_freezes(sc):
    return [
        sees(sc, lambda r: r.id()),
        sees(sc, lambda r: r.name()),
        sees(sc, lambda r: r.toDebugString()),
        sees(sc, lambda r: r.getStorageLevel()),
        sees(sc, lambda r: r.isCheckpointed()),
        sees(sc, repr),
    ]


TRANSFORMATIONS = {
    "map": lambda r: r.map(lambda x: x),
    "filter": lambda r: r.filter(lambda x: True),
    "flatMap": lambda r: r.flatMap(lambda x: [x]),
    "keyBy": lambda r: r.keyBy(lambda x: 0),
    "mapPartitions": lambda r: r.mapPartitions(list),
    "glom": lambda r: r.glom(),
    "sample": lambda r: r.sample(True, 20.0, 1).distinct(1),
    "zipWithIndex": lambda r: r.zipWithIndex(),
    "zipWithUniqueId": lambda r: r.zipWithUniqueId(),
    "union": lambda r: r.union(r),
    "union of all": lambda r: r.context.union([r, r, r]),
    "union with a source": lambda r: r.union(r.context.parallelize([7], 1)),
    "cartesian": lambda r: r.cartesian(r),
    "zip": lambda r: r.zip(r),
    "coalesce": lambda r: r.coalesce(1),
    "repartition": lambda r: r.repartition(1),
    "partitionBy": lambda r: r.keyBy(lambda x: 0).partitionBy(1),
    "reduceByKey": lambda r: r.keyBy(lambda x: 0).reduceByKey(lambda a, b: a),
    "groupByKey": lambda r: r.keyBy(lambda x: 0).groupByKey().mapValues(list),
    "groupBy": lambda r: r.groupBy(lambda x: 0).mapValues(list),
    "distinct": lambda r: r.distinct(),
    "join": lambda r: r.keyBy(lambda x: 0).join(r.keyBy(lambda x: 0)),
    "cogroup": lambda r: r.keyBy(lambda x: 0).cogroup(r.keyBy(lambda x: 0)).mapValues(
        lambda sides: [list(each) for each in sides]
    ),
    "subtract": lambda r: r.subtract(r.context.parallelize([7], 1)),
    "intersection": lambda r: r.intersection(r.context.parallelize([1, 2], 1)),
    "sortBy one": lambda r: r.sortBy(lambda x: x, numPartitions=1),
    "sortBy two": lambda r: r.sortBy(lambda x: x, numPartitions=2),
    "sortByKey two": lambda r: r.keyBy(lambda x: 0).sortByKey(numPartitions=2),
}  # fmt: skip


@case("union", "cartesian", "zip", "coalesce", "repartition", "reduceByKey", "join", "sortBy")
def which_transformations_freeze(sc):
    """What the new RDD sees, and what the old one."""
    found = {}
    for name, transform in TRANSFORMATIONS.items():
        variable = Variable(sc)
        made = transform(variable.rdd)
        variable.change()
        found[name] = made.collect(), variable.rdd.collect()
    return found


@case("union", "map", "filter")
def a_frozen_parent_is_not_frozen_in_a_pipelined_child(sc):
    variable = Variable(sc)
    parent = variable.rdd
    child = parent.map(lambda x: x)
    before = parent.collect(), child.count()
    variable.change()
    return before, parent.collect(), parent.take(1), child.collect(), parent.map(str).collect()


@case("collect")
def a_child_that_is_frozen_leaves_its_parent_as_it_is(sc):
    variable = Variable(sc)
    child = variable.rdd.map(lambda x: x)
    before = child.collect()
    variable.change()
    return before, child.collect(), variable.rdd.collect(), child.take(1)


@case("cache", "take")
def a_cached_rdd_has_one_version(sc):
    variable = Variable(sc, range(4), 4)
    kept = variable.rdd.cache()
    first = kept.take(1)
    variable.change()
    return first, kept.take(4), kept.collect(), kept.map(str).collect(), kept.count()


@case("cache", "unpersist")
def a_child_of_what_was_cached_when_it_was_made(sc):
    variable = Variable(sc)
    kept = variable.rdd.cache()
    child = kept.map(lambda x: x)
    kept.unpersist()
    late = kept.map(lambda x: x)
    variable.change()
    return child.collect(), late.collect(), kept.collect()


@case("cache")
def a_child_made_before_its_parent_is_cached(sc):
    variable = Variable(sc)
    child = variable.rdd.map(lambda x: x)
    variable.rdd.cache().count()
    variable.change()
    return child.collect(), variable.rdd.collect()


@case("cache")
def a_child_frozen_before_its_parent_is_cached(sc):
    variable = Variable(sc)
    child = variable.rdd.map(lambda x: x)
    before = child.collect()
    variable.change()
    after = variable.rdd.cache().collect()
    return before, after, child.collect(), child.count()


@case("checkpoint")
def a_checkpointed_rdd_has_one_version(sc, folder):
    sc.setCheckpointDir(str(folder))
    variable = Variable(sc)
    variable.rdd.checkpoint()
    child = variable.rdd.map(lambda x: x)
    variable.change()
    first = child.collect()
    return first, variable.rdd.isCheckpointed(), variable.rdd.collect(), child.collect()


@case("map", "collect")
def a_global(sc):
    global FACTOR
    FACTOR = 1
    rdd = sc.parallelize([10], 1).map(lambda x: x * FACTOR)
    before = rdd.collect()
    FACTOR = 2
    again = rdd.collect(), rdd.count(), rdd.take(1)
    FACTOR = 1
    return before, again


@case("map", "cache")
def a_list_changed_in_place(sc):
    values = [1]
    rdd = sc.parallelize([0], 1).map(lambda x: list(values))
    values.append(2)
    first = rdd.collect()
    values.append(3)
    kept = sc.parallelize([0], 1).map(lambda x: list(values)).cache()
    values.append(4)
    return first, rdd.collect(), kept.collect(), rdd.take(1)


@case("map")
def a_default_argument(sc):
    def see(x, values=[1]):  # noqa: B006
        return list(values)

    rdd = sc.parallelize([0], 1).map(see)
    see.__defaults__[0].append(2)
    first = rdd.collect()
    see.__defaults__[0].append(3)
    return first, rdd.collect(), rdd.first()


@case("map")
def a_method_and_a_partial(sc):
    scale = Scale(1)
    by_method = sc.parallelize([10], 1).map(scale.apply)
    values = [1]
    by_partial = sc.parallelize([0], 1).map(partial(lambda held, x: list(held), values))
    before = by_method.collect(), by_partial.collect()
    scale.factor = 2
    values.append(2)
    return before, by_method.collect(), by_partial.collect(), by_method.first(), by_partial.first()


@case("map")
def a_function_that_is_bound_anew(sc):
    def old(x):
        return "old"

    def new(x):
        return "new"

    see = old
    rdd = sc.parallelize([0], 1).map(lambda x: see(x))
    kept = rdd.map(lambda x: x).cache()
    see = new
    return rdd.collect(), kept.collect()


@case("map", "reduceByKey", "cache")
def a_loop_variable(sc):
    plain = kept = shuffled = sc.parallelize([("a", 0)], 1)
    for i in range(3):
        plain = plain.mapValues(lambda v: [v, i])  # noqa: B023
        kept = kept.mapValues(lambda v: [v, i]).cache()  # noqa: B023
        shuffled = shuffled.mapValues(lambda v: [v, i]).reduceByKey(add, 2)  # noqa: B023
    return plain.collect(), kept.collect(), shuffled.collect()


@case("reduceByKey", "foldByKey", "aggregateByKey", "combineByKey")
def functions_on_both_sides_of_a_shuffle(sc):
    """Two partitions with two values each: two merges before the shuffle and one behind it."""
    name = "old"

    def merge(a, b):
        return f"({a}{name}{b})"

    pairs = sc.parallelize([("k", "a"), ("k", "b"), ("k", "c"), ("k", "d")], 2)
    reduced = pairs.reduceByKey(merge, 1)
    folded = pairs.foldByKey("-", merge, 1)
    zero = ["-"]
    aggregated = pairs.aggregateByKey(zero, lambda a, b: [merge(a, b)], merge, 1)
    name = "new"
    zero.append("changed")
    before = reduced.collect(), folded.collect(), aggregated.collect()
    name = "newer"
    return before, reduced.collect(), reduced.first()


@case("partitionBy")
def a_partition_function(sc):
    shift = 0
    pairs = sc.parallelize([(0, "a"), (1, "b")], 1)
    placed = pairs.partitionBy(2, lambda key: key + shift)
    shift = 1
    return placed.glom().collect(), pairs.partitionBy(2, lambda key: key + shift).glom().collect()


@case("sortBy", "sortByKey")
def the_key_function_of_a_sort(sc):
    sign = 1
    rows = sc.parallelize([3, 1, 2, 5, 4], 2)
    by_ranges = rows.sortBy(lambda x: sign * x, numPartitions=2)
    in_one = rows.sortBy(lambda x: sign * x, numPartitions=1)
    whole = rows.coalesce(1).sortBy(lambda x: sign * x)
    by_key = rows.keyBy(lambda x: x).sortByKey(numPartitions=1, keyfunc=lambda x: sign * x)
    sign = -1
    return by_ranges.collect(), in_one.collect(), whole.collect(), by_key.keys().collect()


@case("map", "aggregate", "cache", "reduceByKey")
def functions_of_one_pipeline_share_what_they_captured(sc):
    seen = []

    def note(x):
        seen.append(x)
        return x

    noted = sc.parallelize([1, 2, 3], 1).map(note)
    length = noted.map(lambda x: len(seen))
    behind_cache = sc.parallelize([1, 2, 3], 1).map(note).cache().map(lambda x: len(seen))
    behind_union = noted.union(sc.parallelize([], 1)).map(lambda x: len(seen))
    in_action = noted.aggregate(0, lambda total, x: total + len(seen), add)
    routed = noted.keyBy(lambda x: x).partitionBy(3, lambda key: len(seen)).glom().collect()
    return (
        length.collect(),
        length.collect(),
        behind_cache.collect(),
        behind_union.collect(),
        in_action,
        len(routed),
        seen,
    )


@case("map", "cache", "union", "reduceByKey", "sortBy", "repartition")
def a_function_that_can_not_be_pickled(sc):
    lock = threading.Lock()

    def made():
        return sc.parallelize([(1, 1)], 2).map(lambda x: (x, lock))

    return {
        "map": fails(made),
        "collect": fails(lambda: made().collect()),
        "cache": fails(lambda: made().cache()),
        "union": fails(lambda: made().union(made())),
        "cartesian": fails(lambda: made().cartesian(made())),
        "zip": fails(lambda: made().zip(made())),
        "coalesce": fails(lambda: made().coalesce(1)),
        "repartition": fails(lambda: made().repartition(1)),
        "reduceByKey": fails(lambda: made().reduceByKey(add)),
        "join": fails(lambda: made().join(made())),
        "localCheckpoint": fails(lambda: made().localCheckpoint()),
    }


@case("sc.broadcast", "Broadcast.destroy")
def a_broadcast_that_is_destroyed_after_its_function_is_frozen(sc):
    value = sc.broadcast(1)
    rdd = sc.parallelize([0], 1).map(lambda x: value.value)
    before = rdd.collect()
    value.destroy()
    return before, fails(rdd.collect), fails(rdd.first)


@case("sc.broadcast")
def a_broadcast_that_nothing_but_a_frozen_function_holds(sc):
    value = sc.broadcast([1] * 1000)
    rdd = sc.parallelize([0], 1).map(lambda x: sum(value.value)).cache()
    shuffled = sc.parallelize([0], 1).map(lambda x: (x, sum(value.value))).reduceByKey(add)
    value = sc.broadcast([2] * 1000)
    gc.collect()
    return rdd.collect(), shuffled.collect(), value.value[0]


@case("sc.accumulator")
def an_accumulator_that_is_bound_anew(sc):
    old = total = sc.accumulator(0)
    rdd = sc.parallelize([1, 2], 2).map(lambda x: total.add(x)).cache()
    total = sc.accumulator(0)
    rdd.unpersist()
    rdd.collect()
    rdd.count()
    return old.value, total.value
