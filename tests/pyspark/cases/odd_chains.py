"""RDDs combined with themselves, with nothing, and with others that do not fit."""

from operator import add

from tests.pyspark.tables import add_programs


def parallel(rows, parts):
    return lambda: lambda sc: sc.parallelize(rows, parts)


RDDS = {
    "nothing": lambda: lambda sc: sc.emptyRDD(),
    "empty_partitions": parallel([], 3),
    "one_row": parallel([(1, "a")], 1),
    "one_row_of_three": parallel([(1, "a")], 3),
    "rows": parallel([(1, "a"), (2, "b"), (1, "c")], 2),
    "unioned_with_itself": lambda: lambda sc: twice(sc.parallelize([(1, "a"), (2, "b")], 2)),
    "unioned_with_nothing": lambda: lambda sc: sc.parallelize([(1, "a")], 1).union(sc.emptyRDD()),
    "hashed": lambda: lambda sc: sc.parallelize([(n, n) for n in range(5)], 2).partitionBy(3),
    "filtered_away": lambda: lambda sc: sc.parallelize([(1, "a")], 2).filter(lambda x: False),
}


def twice(rdd):
    return rdd.union(rdd)


def listed(rdd):
    return sorted(rdd.mapValues(lambda held: sorted(held, key=repr)).collect(), key=repr)


def in_order(rdd):
    return sorted(rdd.collect(), key=repr)


USES = {
    "glom": lambda sc, folder, make: make(sc).glom().collect(),
    "getNumPartitions": lambda sc, folder, make: make(sc).getNumPartitions(),
    "union": lambda sc, folder, make: twice(twice(make(sc))).glom().collect(),
    "zip": lambda sc, folder, make: zipped(make(sc)),
    "zip_with_fewer_rows": lambda sc, folder, make: zipped_with(make(sc), lambda x: x[0] != 1),
    "zip_with_other_partitions": lambda sc, folder, make: (
        make(sc).zip(sc.parallelize([1, 2, 3], 4)).collect()
    ),
    "zipWithIndex": lambda sc, folder, make: make(sc).zipWithIndex().collect(),
    "cartesian": lambda sc, folder, make: in_order(squared(make(sc))),
    "join": lambda sc, folder, make: in_order(joined(make(sc))),
    "fullOuterJoin": lambda sc, folder, make: in_order(make(sc).fullOuterJoin(sc.emptyRDD())),
    "groupWith": lambda sc, folder, make: grouped_with(sc, make(sc)),
    "subtract": lambda sc, folder, make: subtracted(make(sc)),
    "intersection": lambda sc, folder, make: in_order(make(sc).intersection(make(sc))),
    "coalesce_twice": lambda sc, folder, make: make(sc).coalesce(4).coalesce(3).glom().collect(),
    "repartition": lambda sc, folder, make: in_order(make(sc).repartition(4)),
    "sortBy": lambda sc, folder, make: make(sc).sortBy(lambda x: 0).collect(),
    "sortByKey": lambda sc, folder, make: make(sc).sortByKey(False).glom().collect(),
    "groupByKey": lambda sc, folder, make: listed(make(sc).groupByKey()),
    "partitionBy": lambda sc, folder, make: partitioned_twice(make(sc)),
    "first": lambda sc, folder, make: make(sc).first(),
    "take": lambda sc, folder, make: (make(sc).take(0), make(sc).take(-1), make(sc).take(100)),
    "max": lambda sc, folder, make: make(sc).max(),
    "fold": lambda sc, folder, make: make(sc).map(lambda x: 1).fold(10, add),
    "aggregate": lambda sc, folder, make: make(sc).aggregate([], gathered, extended),
    "treeAggregate": lambda sc, folder, make: make(sc).treeAggregate([], gathered, extended),
    "countByKey": lambda sc, folder, make: dict(make(sc).countByKey()),
    "reduceByKeyLocally": lambda sc, folder, make: make(sc).reduceByKeyLocally(max),
    "takeSample": lambda sc, folder, make: make(sc).takeSample(True, 3, 1),
    "saveAsTextFile": lambda sc, folder, make: saved(make(sc), folder),
    "localCheckpoint": lambda sc, folder, make: checkpointed(make(sc)),
    "repartitionAndSortWithinPartitions": lambda sc, folder, make: (
        make(sc).repartitionAndSortWithinPartitions(2, ascending=False).glom().collect()
    ),
}


def zipped(rdd):
    return rdd.zip(rdd).collect()


def zipped_with(rdd, chosen):
    return rdd.zip(rdd.filter(chosen)).collect()


def squared(rdd):
    return rdd.cartesian(rdd)


def joined(rdd):
    return rdd.join(rdd)


def grouped_with(sc, rdd):
    groups = rdd.groupWith(rdd, sc.emptyRDD())
    return sorted(
        groups.mapValues(lambda held: [sorted(x, key=repr) for x in held]).collect(), key=repr
    )


def subtracted(rdd):
    return rdd.subtract(rdd).collect(), rdd.subtractByKey(rdd).collect()


def partitioned_twice(rdd):
    once = rdd.partitionBy(2)
    return once.partitionBy(2) is once, [sorted(p, key=repr) for p in once.glom().collect()]


def gathered(held, x):
    held.append(x)
    return held


def extended(left, right):
    left.extend(right)
    return left


def saved(rdd, folder):
    rdd.saveAsTextFile(str(folder / "out"))
    return sorted(path.name for path in (folder / "out").iterdir() if path.name[0] != ".")


def checkpointed(rdd):
    mapped = rdd.map(lambda x: [x])
    mapped.localCheckpoint()
    return mapped.collect(), mapped.isCheckpointed(), mapped.collect()


add_programs("odd_chains", USES, RDDS)
