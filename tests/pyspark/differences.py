"""Where Pyrite does not answer as PySpark does, by decision.

A case that is listed must differ: one that agrees again fails, so that it is taken off the list.
"""

from itertools import product


def cases(title: str, inputs: str, uses: str) -> list[str]:
    """The programs of a table, for each of these inputs with each of these uses."""
    return [f"{title}.{one}.{other}" for one, other in product(inputs.split(), uses.split())]


def named(title: str, names: str) -> list[str]:
    """Programs of a table with one entry each."""
    return [f"{title}.{each}" for each in names.split()]


BY_KEY = "distinct groupBy join partitionBy"

DELIBERATE = {
    "MEMORY_ONLY keeps live rows, for speed: a task that changes a cached row in place changes "
    "the cache. pyrite.cache.liveRows=false or StorageLevel.OFF_HEAP keep encoded rows.": [
        "storage.cached_rows_are_not_changed_by_tasks",
        *cases("odd_state", "MEMORY_ONLY MEMORY_AND_DISK", "changed_after_the_cache"),
    ],
    "Rows are pickled only where they leave a process, or are kept encoded: what can't be pickled "
    "passes elsewhere, but not through a local checkpoint, which keeps encoded rows.": [
        *cases("odd_failures", "no_pickle", "cache checkpoint zip"),
        *cases("odd_failures", "no_unpickle", "cache disk zip"),
    ],
    "A key that is hashed by its address has no place that every process agrees on: it is refused "
    "by name. PySpark's workers are forked, so addresses may or may not agree.": [
        *cases("odd_rows", "exceptions list_iterators maps no_truth reduced slots", BY_KEY),
        *cases("odd_failures", "no_unpickle", "distinct shuffle_as_keys"),
    ],
    "Of keys that are equal but not alike, a joined row has the key of its own left row, and in "
    "PySpark that of the first row of them all.": [
        *cases("odd_rows", "caseless complex datetimes decimals equal_numbers fractions", "join"),
        *cases("odd_rows", "int_enums namedtuples ranges zeros", "join"),
    ],
    "Broadcasts are pickled like functions, so that more can be broadcast.": [
        *cases("odd_rows", "lambdas memoryviews", "broadcast"),
    ],
    "No partitions are refused by name. PySpark loses all rows, or divides by zero.": [
        *cases("odd_counts", "zero", "parallelize parallelize_nothing range sortBy sortByKey"),
        *cases(
            "odd_counts",
            "zero negative",
            "distinct groupByKey join partitionBy reduceByKey subtract "
            "repartitionAndSortWithinPartitions",
        ),
    ],
    "True is refused as a number of partitions, everywhere; as the index of one it is 1, and None "
    "is none. Py4J has it the other way round, or not, by the way that a number takes.": [
        *cases("odd_counts", "true", "sortBy sortByKey runJob"),
        "odd_counts.none.runJob",
    ],
    "An estimate of distinct rows takes any error above zero, and another hash makes it.": [
        *cases("odd_counts", "fraction many true", "countApproxDistinct"),
    ],
    "Statistics are made of floats. PySpark's are numpy's where numpy is installed, and take "
    "whatever numpy takes.": [
        *cases("odd_numbers", "complex", "mean sampleStdev stats stats_in_words"),
        *cases("odd_numbers", "fractions mixed zeros", "stats stats_in_words"),
    ],
    "Functions that travel by value are refused as keys, by name: their copies are not equal.": [
        *cases("odd_rows", "functions lambdas", BY_KEY),
    ],
    "A child reads what is kept of its parent, even if that was persisted after the child was "
    "made, and so the version that is kept; PySpark computes the parent anew.": [
        "freezing.a_child_made_before_its_parent_is_cached",
    ],
    "To ask an RDD for its id, name, lineage or storage level changes nothing. In PySpark it "
    "pickles the RDD's functions, and raises where they can't be.": [
        "freezing.asking_freezes",
        "rdd_ids.action.name",
    ],
    "What sortBy gives is pickled at once, and so has its id at once. In PySpark it has one when "
    "it is first pickled, and none as a step of a pipeline.": ["rdd_ids.operator.map_of_sortBy"],
    "A StopIteration of a function is a RuntimeError wherever it comes from. In PySpark it is "
    "itself where the function of mapPartitions raises it before it gives an iterator.": [
        "odd_failures.stop.mapPartitions",
    ],
    "Partitions that don't fit each other fail their task. PySpark finds out where the rows are "
    "unpickled, which may be in the driver.": ["misuse.zip_of_other_sizes"],
    "Errors are of the classes that PySpark raises, and have names of their own.": [
        "programs.errors_caught",
    ],
    "A broadcast that was destroyed can't be pickled; in PySpark its task fails.": [
        "misuse.broadcast_used_after_destroy",
    ],
}

DIFFERENCES = {name: reason for reason, names in DELIBERATE.items() for name in names}
