"""Misuses of the API: the class of the error, the conditions it names, and where it comes from."""

import pickle
import re
import threading
from functools import partial

from tests.pyspark.api import api, submodule
from tests.pyspark.raised import Raised
from tests.pyspark.registry import Case, add_case

LOCK = threading.Lock()
# Such as [NOT_IN_BARRIER_STAGE]; those of the JVM are its own.
CONDITION = re.compile(r"\[(?!INTERNAL|PYTHON_EXCEPTION)([A-Z]+(?:_[A-Z]+)+)\]")


def numbers(sc):
    return sc.parallelize(range(4), 2)


def pairs(sc):
    return numbers(sc).map(lambda x: (x, x))


def empty(sc):
    return sc.parallelize([], 2)


def oops(x):
    raise KeyError("user")


def stop(x):
    raise StopIteration("of the user")


def in_task(sc, function):
    return sc.parallelize([1], 1).map(lambda _: function()).collect()


def read_accumulator_in_task(sc):
    total = sc.accumulator(0)
    return in_task(sc, lambda: total.value)


def set_accumulator_in_task(sc):
    total = sc.accumulator(0)

    def change(_):
        total.value = 3

    return sc.parallelize([1], 1).map(change).collect()


def unpersist_broadcast_in_task(sc):
    held = sc.broadcast(1)
    return in_task(sc, lambda: held.unpersist())


def destroy_broadcast_in_task(sc):
    held = sc.broadcast(1)
    return in_task(sc, lambda: held.destroy())


def destroyed(sc):
    held = sc.broadcast([1])
    held.destroy()
    return held


def use_destroyed_broadcast_in_task(sc):
    held = destroyed(sc)
    return in_task(sc, lambda: held.value)


def persist_at_two_levels(sc):
    return numbers(sc).cache().persist(api.StorageLevel.DISK_ONLY)


def rdd_in_task(sc):
    other = numbers(sc)
    return in_task(sc, lambda: other.count())


def lock_in_task(sc):
    lock = threading.Lock()
    return in_task(sc, lambda: lock)


def barrier_outside_of_one(sc):
    return in_task(sc, lambda: api.BarrierTaskContext.get())


MISUSES = {
    # Tasks
    "raising_map": lambda sc: numbers(sc).map(oops).collect(),
    "raising_take": lambda sc: numbers(sc).map(oops).take(1),
    "raising_foreach": lambda sc: numbers(sc).foreach(oops),
    "raising_count": lambda sc: numbers(sc).map(oops).count(),
    "raising_iterator": lambda sc: list(numbers(sc).map(oops).toLocalIterator()),
    "stop_iteration": lambda sc: numbers(sc).map(stop).collect(),
    "unpicklable_rows": lambda sc: numbers(sc).map(lambda x: (y for y in [x])).collect(),
    "context_in_task": lambda sc: in_task(sc, lambda: sc.parallelize([1])),
    "rdd_in_task": rdd_in_task,
    "lock_in_task": lock_in_task,
    "context_made_in_task": lambda sc: in_task(sc, lambda: api.SparkContext("local")),
    "context_got_in_task": lambda sc: in_task(sc, api.SparkContext.getOrCreate),
    "barrier_in_task": barrier_outside_of_one,
    "accumulator_read_in_task": read_accumulator_in_task,
    "accumulator_set_in_task": set_accumulator_in_task,
    "broadcast_unpersisted_in_task": unpersist_broadcast_in_task,
    "broadcast_destroyed_in_task": destroy_broadcast_in_task,
    "broadcast_used_after_destroy": use_destroyed_broadcast_in_task,
    "numbers_for_pairs": lambda sc: numbers(sc).mapValues(str).collect(),
    "lists_as_keys": lambda sc: sc.parallelize([[1]], 1).distinct().collect(),
    "texts_summed": lambda sc: sc.parallelize(["a"], 1).sum(),
    "command_missing": lambda sc: numbers(sc).pipe("/no/such/command").collect(),
    "command_failed": lambda sc: numbers(sc).pipe("false", checkCode=True).collect(),
    # The driver's own
    "barrier_in_driver": lambda sc: api.BarrierTaskContext.get(),
    "context_pickled": pickle.dumps,
    "rdd_pickled": lambda sc: pickle.dumps(numbers(sc)),
    "rdd_broadcast": lambda sc: sc.broadcast(numbers(sc)),
    "context_broadcast": lambda sc: sc.broadcast(sc),
    "lock_broadcast": lambda sc: sc.broadcast(LOCK),
    "broadcast_unpersisted_after_destroy": lambda sc: destroyed(sc).unpersist(),
    "second_context": lambda sc: api.SparkContext("local"),
    "accumulator_of_text": lambda sc: sc.accumulator("a"),
    "persisted_as_text": lambda sc: numbers(sc).persist("MEMORY_ONLY"),
    "persisted_twice": persist_at_two_levels,
    "log_level": lambda sc: sc.setLogLevel("LOUD"),
    "empty_job_tag": lambda sc: sc.addJobTag(""),
    "job_tag_with_comma": lambda sc: sc.addJobTag("a,b"),
    "profiles_shown": lambda sc: sc.show_profiles(),
    "profiles_dumped": lambda sc: sc.dump_profiles("profiles"),
    "no_such_method": lambda sc: numbers(sc).noSuchMethod,
    "environment_without_value": lambda sc: api.SparkConf().setExecutorEnv(),
    # Partitions
    "no_partition": lambda sc: sc.runJob(numbers(sc), list, [9]),
    "repartition_zero": lambda sc: numbers(sc).repartition(0),
    "repartition_text": lambda sc: numbers(sc).repartition("two"),
    "coalesce_zero": lambda sc: numbers(sc).coalesce(0),
    "zip_of_other_sizes": lambda sc: numbers(sc).zip(sc.parallelize(range(5), 2)).collect(),
    "zip_of_other_partitions": lambda sc: numbers(sc).zip(sc.parallelize(range(4), 3)),
    # Values
    "reduce_nothing": lambda sc: empty(sc).reduce(max),
    "max_of_nothing": lambda sc: empty(sc).max(),
    "first_of_nothing": lambda sc: empty(sc).first(),
    "treeReduce_nothing": lambda sc: empty(sc).treeReduce(max),
    "treeAggregate_depth": lambda sc: numbers(sc).treeAggregate(0, max, max, depth=0),
    "take_text": lambda sc: numbers(sc).take("a"),
    "take_none": lambda sc: numbers(sc).take(None),
    "takeSample_negative": lambda sc: numbers(sc).takeSample(False, -1),
    "sample_negative": lambda sc: numbers(sc).sample(False, -0.5),
    "randomSplit_negative": lambda sc: numbers(sc).randomSplit([-1, 2]),
    "sampleByKey_negative": lambda sc: pairs(sc).sampleByKey(False, {1: -1.0}),
    "histogram_text": lambda sc: numbers(sc).histogram("x"),
    "histogram_zero": lambda sc: numbers(sc).histogram(0),
    "countApproxDistinct_small": lambda sc: numbers(sc).countApproxDistinct(1e-7),
    "parallelize_number": lambda sc: sc.parallelize(5),
    "range_fraction": lambda sc: sc.range(1.5).collect(),
    # Files
    "textFile_missing": lambda sc: sc.textFile("/no/such/file").collect(),
    "textFile_missing_counted": lambda sc: sc.textFile("/no/such/file").getNumPartitions(),
    "wholeTextFiles_missing": lambda sc: sc.wholeTextFiles("/no/such/folder").collect(),
    "save_over": lambda sc: numbers(sc).saveAsTextFile("/tmp"),
    "save_codec": lambda sc: numbers(sc).saveAsTextFile("/tmp/never", "no.such.Codec"),
    "addFile_missing": lambda sc: sc.addFile("/no/such/file"),
    "addPyFile_missing": lambda sc: sc.addPyFile("/no/such/file.py"),
}


def first_of_row(use):
    return lambda sc: use(submodule("sql").Row(a=1))


ROWS = {
    "row_attribute": first_of_row(lambda row: row.b),
    "row_key": first_of_row(lambda row: row["b"]),
    "row_index": first_of_row(lambda row: row[7]),
    "row_changed": first_of_row(lambda row: setattr(row, "a", 2)),
    "row_mixed": lambda sc: submodule("sql").Row(1, a=1),
    "row_too_long": lambda sc: submodule("sql").Row("a", "b")(1, 2, 3),
    "row_dict_of_names": lambda sc: submodule("sql").Row("a", "b").asDict(),
}


def met(misuse, sc):
    """The error, its conditions, and which of two classes beside PySpark's own catch it."""
    try:
        misuse(sc)
    except Exception as error:
        conditions = sorted(set(CONDITION.findall(str(error))))
        names = [each.__name__ for each in type(error).__mro__]
        catching = [each for each in ("Py4JJavaError", "PicklingError") if each in names]
        return Raised.from_error("call", error), conditions, catching
    return "no error"


def stopped(use):
    def after_stop(sc):
        rdd = numbers(sc)
        rdd.count()
        sc.stop()
        return use(sc, rdd)

    return after_stop


FRESH = {
    # Others set a folder in the context that they share.
    "checkpoint_without_folder": lambda sc: numbers(sc).checkpoint(),
    "stopped_parallelize": stopped(lambda sc, rdd: sc.parallelize([1])),
    "stopped_count": stopped(lambda sc, rdd: rdd.count()),
    "stopped_broadcast": stopped(lambda sc, rdd: sc.broadcast(1)),
    "stopped_textFile": stopped(lambda sc, rdd: sc.textFile("/no/such/file")),
}


def made(master, conf):
    return lambda: api.SparkContext(master, "never", conf=api.SparkConf().setAll(conf.items()))


CONTEXTS = {
    "master_unknown": made("nowhere", {}),
    "master_of_words": made("local[many]", {}),
    "master_of_none": made("local[0]", {}),
    "setting_of_words": made("local", {"spark.speculation": "perhaps"}),
}


def met_without_context(misuse):
    return met(lambda _: misuse(), None)


for name, misuse in {**MISUSES, **ROWS, **FRESH}.items():
    context = "fresh" if name in FRESH else "shared"
    add_case(Case(f"misuse.{name}", (), partial(met, misuse), context=context))
for name, misuse in CONTEXTS.items():
    add_case(Case(f"misuse.{name}", (), partial(met_without_context, misuse), context="none"))
