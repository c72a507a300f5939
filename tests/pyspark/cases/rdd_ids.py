"""By how much the id of an RDD differs from the one made before it, and from the one made after."""

from functools import partial
from operator import itemgetter

from tests.pyspark.registry import Case, add_case

SOURCES = {
    "parallelize": lambda sc, path: sc.parallelize([1], 1),
    "parallelize_range": lambda sc, path: sc.parallelize(range(5), 2),
    "range": lambda sc, path: sc.range(5),
    "emptyRDD": lambda sc, path: sc.emptyRDD(),
    "textFile": lambda sc, path: sc.textFile(path),
    "wholeTextFiles": lambda sc, path: sc.wholeTextFiles(path),
    "binaryFiles": lambda sc, path: sc.binaryFiles(path),
    "binaryRecords": lambda sc, path: sc.binaryRecords(path, 2),
    "union_of_two": lambda sc, path: sc.union([pairs(sc), pairs(sc)]),
}

OPERATORS = {
    "map": lambda r: r.map(str),
    "map_twice": lambda r: r.map(str).map(len),
    "filter": lambda r: r.filter(bool),
    "flatMap": lambda r: r.flatMap(list),
    "mapPartitions": lambda r: r.mapPartitions(list),
    "mapValues": lambda r: r.mapValues(str),
    "keys": lambda r: r.keys(),
    "keyBy": lambda r: r.keyBy(str),
    "glom": lambda r: r.glom(),
    "union": lambda r: r.union(r),
    "cartesian": lambda r: r.cartesian(r),
    "zip": lambda r: r.zip(r),
    "zipWithIndex": lambda r: r.zipWithIndex(),
    "zipWithUniqueId": lambda r: r.zipWithUniqueId(),
    "coalesce": lambda r: r.coalesce(1),
    "repartition": lambda r: r.repartition(3),
    "distinct": lambda r: r.distinct(),
    "groupBy": lambda r: r.groupBy(itemgetter(0)),
    "groupByKey": lambda r: r.groupByKey(),
    "reduceByKey": lambda r: r.reduceByKey(max),
    "aggregateByKey": lambda r: r.aggregateByKey(0, max, max),
    "partitionBy": lambda r: r.partitionBy(2),
    "join": lambda r: r.join(r),
    "cogroup": lambda r: r.cogroup(r),
    "subtract": lambda r: r.subtract(r),
    "subtractByKey": lambda r: r.subtractByKey(r),
    "intersection": lambda r: r.intersection(r),
    "sortBy": lambda r: r.sortBy(itemgetter(0)),
    "sample": lambda r: r.sample(False, 0.5, 1),
    "randomSplit": lambda r: r.randomSplit([1, 1], 1)[1],
    "pipe": lambda r: r.pipe("cat"),
    "barrier": lambda r: r.barrier().mapPartitions(list),
    "cache": lambda r: r.cache(),
}

ACTIONS = {
    "collect": lambda r: r.collect(),
    "collectAsMap": lambda r: r.collectAsMap(),
    "count": lambda r: r.count(),
    "take": lambda r: r.take(1),
    "reduce": lambda r: r.reduce(max),
    "foreach": lambda r: r.foreach(str),
    "getNumPartitions": lambda r: r.getNumPartitions(),
    "toLocalIterator": lambda r: list(r.toLocalIterator()),
}


def pairs(sc):
    return sc.parallelize([(i % 3, i) for i in range(6)], 2)


def of_source(make, sc, folder):
    (folder / "a.txt").write_text("a\nb\n" * 4)
    before = pairs(sc).id()
    made = make(sc, str(folder / "a.txt")).id()
    return made - before, pairs(sc).id() - made


def of_operator(use, sc):
    rdd = pairs(sc)
    before, made = rdd.id(), use(rdd).id()
    return made - before, pairs(sc).id() - made


def of_action(act, sc):
    rdd = pairs(sc)
    before = rdd.id()
    act(rdd)
    return pairs(sc).id() - before


for title, program, uses in (
    ("source", of_source, SOURCES),
    ("operator", of_operator, OPERATORS),
    ("action", of_action, ACTIONS),
):
    for name, use in uses.items():
        add_case(Case(f"rdd_ids.{title}.{name}", (), partial(program, use)))
