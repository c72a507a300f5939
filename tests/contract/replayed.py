"""A program whose jobs each fail at one record; prints each error, as a user sees it."""

import operator
import os
import signal
import sys
from random import Random

from pyspark.rdd import portable_hash

from pyspark import SparkContext, TaskContext

ROWS = int(sys.argv[1])
BAD = ROWS * 3 // 4 + 1
KILLS = sys.argv[2] == "kills"
# All of them, where none is named.
WANTED = sys.argv[3:]

sc = SparkContext()
sc.addFile(__file__)
offset = sc.broadcast({"by": 0})


def survive(x):
    """Kills the executor of the first row's task when that is tried first."""
    if KILLS and x == 0 and TaskContext.get().attemptNumber() == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return x + offset.value["by"]


def refuse(x):
    if x == BAD:
        raise ValueError("this one")
    return x


def refuse_value(value):
    refuse(value[0] if isinstance(value, tuple) else value)
    return value


def merge(left, right):
    refuse(right)
    return [*left, right] if isinstance(left, list) else [right]


def least(left, right):
    return min(left, refuse(right))


def spread(x):
    yield x
    yield refuse(x)


def each_in_turn(rows):
    for row in rows:
        yield refuse(row)


def rows():
    return sc.parallelize(range(ROWS), 4).map(survive)


def pairs():
    return rows().map(lambda x: (x, x))


def by_hundreds():
    return rows().map(lambda x: (x % 100, x))


def later(key):
    """Puts the record into a partition that comes after others have shown how long they take."""
    return key + 150


def few():
    return by_hundreds().filter(lambda p: p[1] % 97 == BAD % 97)


def skewed():
    """Rows of which most have one key."""
    return rows().map(lambda x: (x % 50 and 1, (x, Random(x).randbytes(100))))


def halves():
    """Rows whose keys come twice, and most of them to one reducer."""
    return rows().map(lambda x: (str(Random(x % (ROWS // 2)).randbytes(60)), x))


def to_few(key):
    return 0 if portable_hash(key) % 9 else 1


def small():
    return sc.parallelize([(key, key) for key in range(50)], 2)


def mixed():
    """Rows of which one has a key that can't be compared with the others."""
    return rows().map(lambda x: (None if x == BAD else x, x))


JOBS = {
    "map": lambda: rows().map(refuse).count(),
    "flatMap": lambda: rows().flatMap(spread).count(),
    "mapPartitions": lambda: rows().mapPartitions(each_in_turn).count(),
    "exit": lambda: rows().map(lambda x: sys.exit(x) if x == BAD else x).count(),
    "unhashable": lambda: rows().map(lambda x: ([x] if x == BAD else x, x)).reduceByKey(
        max
    ).count(),
    "foreach": lambda: rows().foreach(refuse),
    "foreachPartition": lambda: rows().foreachPartition(lambda rows: [refuse(x) for x in rows]),
    "map side of a reduce": lambda: by_hundreds().aggregateByKey([], merge, operator.add).count(),
    "reduce": lambda: pairs().groupByKey(4).mapValues(list).mapValues(
        lambda values: refuse(values[0])
    ).count(),
    "merge": lambda: by_hundreds().aggregateByKey(ROWS, min, least).count(),
    "behind a partitionBy": lambda: by_hundreds().partitionBy(3).mapValues(refuse).count(),
    "join": lambda: pairs().join(pairs().filter(lambda p: p[0] % 7 != 8), 4).mapValues(
        refuse_value
    ).count(),
    "sort": lambda: rows().sortBy(lambda x: -refuse(x) if x == BAD else -x, numPartitions=4),
    "behind a sort": lambda: rows().sortBy(lambda x: -x, numPartitions=4).map(refuse).count(),
    "compare": lambda: mixed().repartition(2).mapPartitions(
        lambda rows: sorted(rows, key=lambda row: refuse(row[1]))
    ).count(),
    "sorted partitions": lambda: mixed().repartitionAndSortWithinPartitions(2, hash).count(),
    "cogroup": lambda: pairs().cogroup(pairs(), 4).mapValues(
        lambda sides: refuse_value(next(iter(sides[0])))
    ).count(),
    "grouped reducers": lambda: few().groupByKey(200, later).flatMapValues(list).mapValues(
        refuse
    ).count(),
    "divided reducer": lambda: skewed().join(small(), 4).mapValues(
        lambda value: refuse_value(value[0])
    ).count(),
    "pieces of a reducer": lambda: halves().reduceByKey(least, 4, to_few).count(),
    "custom partitioner": lambda: pairs().partitionBy(3, lambda key: refuse(key)).count(),
}  # fmt: skip

for name, job in JOBS.items():
    if WANTED and name not in WANTED:
        continue
    try:
        job()
    except Exception as error:
        print(f"== {name}\n{error}")
    else:
        print(f"== {name}\ndid not fail")
