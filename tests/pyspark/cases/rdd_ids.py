"""By how much the id of an RDD differs from the one made before it, and from the one made after."""

from functools import partial
from operator import itemgetter
from tempfile import TemporaryDirectory

from tests.pyspark.registry import Case, add_case


def pairs(sc):
    return sc.parallelize([(i % 3, i) for i in range(6)], 2)


def collected(rdd):
    rdd.collect()
    return rdd


def counted(rdd):
    rdd.count()
    return rdd


def before_another(rdd):
    pairs(rdd.ctx)
    return rdd


def iterated(rdd):
    for _ in range(3):
        rdd = rdd.join(rdd).mapValues(max).reduceByKey(max)
        rdd.count()
    return rdd


def checkpointed(rdd):
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        rdd.ctx.setCheckpointDir(folder)
        rdd.checkpoint()
        rdd.count()
        rdd.isCheckpointed()


def locally_checkpointed(rdd):
    rdd.localCheckpoint()
    rdd.count()


def save(rdd):
    with TemporaryDirectory() as folder:
        rdd.saveAsTextFile(f"{folder}/saved")


def save_rows(rdd):
    with TemporaryDirectory() as folder:
        rdd.saveAsPickleFile(f"{folder}/saved")


def read_saved(rdd):
    with TemporaryDirectory() as folder:
        rdd.saveAsPickleFile(f"{folder}/saved")
        rdd.ctx.pickleFile(f"{folder}/saved").count()


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
    "union_of_pipelines": lambda r: r.map(tuple).union(r.map(tuple)),
    "cartesian": lambda r: r.cartesian(r),
    "cartesian_of_pipelines": lambda r: r.map(tuple).cartesian(r.map(tuple)),
    "zip": lambda r: r.zip(r),
    "zip_of_pipelines": lambda r: r.map(tuple).zip(r.map(tuple)),
    "zip_with_a_pipeline": lambda r: r.zip(r.map(tuple)),
    "zipWithIndex": lambda r: r.zipWithIndex(),
    "zipWithUniqueId": lambda r: r.zipWithUniqueId(),
    "coalesce": lambda r: r.coalesce(1),
    "coalesce_a_pipeline": lambda r: r.map(tuple).coalesce(1),
    "repartition": lambda r: r.repartition(3),
    "repartition_a_pipeline": lambda r: r.map(tuple).repartition(3),
    "distinct": lambda r: r.distinct(),
    "groupBy": lambda r: r.groupBy(itemgetter(0)),
    "groupByKey": lambda r: r.groupByKey(),
    "reduceByKey": lambda r: r.reduceByKey(max),
    "aggregateByKey": lambda r: r.aggregateByKey(0, max, max),
    "foldByKey": lambda r: r.foldByKey(0, max),
    "combineByKey": lambda r: r.combineByKey(list, max, max),
    "partitionBy": lambda r: r.partitionBy(2),
    "partitionBy_a_pipeline": lambda r: r.map(tuple).partitionBy(2),
    "partitionBy_again": lambda r: r.partitionBy(2).partitionBy(2),
    "reduceByKey_placed": lambda r: r.partitionBy(2).reduceByKey(max),
    "groupByKey_placed": lambda r: r.partitionBy(2).groupByKey(),
    "groupByKey_twice": lambda r: r.groupByKey().mapValues(list).groupByKey(),
    "join": lambda r: r.join(r),
    "join_placed": lambda r: r.partitionBy(2).join(r.partitionBy(2), 2),
    "join_of_one_placed": lambda r: r.partitionBy(2).join(r),
    "leftOuterJoin": lambda r: r.leftOuterJoin(r),
    "fullOuterJoin_of_pipelines": lambda r: r.map(tuple).fullOuterJoin(r.map(tuple)),
    "cogroup": lambda r: r.cogroup(r),
    "groupWith_two": lambda r: r.groupWith(r, r),
    "groupWith_three": lambda r: r.groupWith(r, r, r),
    "subtract": lambda r: r.subtract(r),
    "subtractByKey": lambda r: r.subtractByKey(r),
    "intersection": lambda r: r.intersection(r),
    "sortBy": lambda r: r.sortBy(itemgetter(0)),
    "sortByKey": lambda r: r.sortByKey(),
    "sortBy_one": lambda r: r.sortBy(itemgetter(0), numPartitions=1),
    "sortByKey_one": lambda r: r.sortByKey(numPartitions=1),
    "sortByKey_of_one": lambda r: r.coalesce(1).sortByKey(),
    "sortByKey_of_nothing": lambda r: r.filter(lambda row: False).sortByKey(),
    "repartitionAndSort": lambda r: r.repartitionAndSortWithinPartitions(2),
    "zipWithIndex_of_one": lambda r: r.coalesce(1).zipWithIndex(),
    "sampleByKey": lambda r: r.sampleByKey(False, {0: 1, 1: 1, 2: 1}, 1),
    "sample": lambda r: r.sample(False, 0.5, 1),
    "randomSplit": lambda r: r.randomSplit([1, 1], 1)[1],
    "pipe": lambda r: r.pipe("cat"),
    "barrier": lambda r: r.barrier().mapPartitions(list),
    "cache": lambda r: r.cache(),
    "cache_a_pipeline": lambda r: r.map(tuple).cache(),
    "map_of_cached": lambda r: r.map(tuple).cache().map(tuple),
    "setName": lambda r: r.map(tuple).setName("a").map(tuple),
    "collected_parent": lambda r: collected(r.map(tuple)).map(tuple),
    "counted_parent": lambda r: counted(r.map(tuple)).map(tuple),
    "made_before_another": lambda r: before_another(r.map(tuple)),
    "range_before_another": lambda r: before_another(r.ctx.range(5)),
    "reduceByKey_before_another": lambda r: before_another(r.reduceByKey(max)),
    "map_of_join": lambda r: r.join(r).map(tuple),
    "map_of_cogroup": lambda r: r.cogroup(r).map(tuple),
    "map_of_range": lambda r: r.ctx.range(5).map(str),
    "map_of_sortByKey": lambda r: r.sortByKey().map(tuple),
    "map_of_sortBy": lambda r: r.sortBy(itemgetter(0)).map(tuple),
    "cached_join": lambda r: r.join(r).cache().map(tuple),
    "union_of_unlike": lambda r: r.union(r.map(tuple)),
    "iterated": iterated,
}

ACTIONS = {
    "collect": lambda r: r.collect(),
    "collectAsMap": lambda r: r.collectAsMap(),
    "count": lambda r: r.count(),
    "take": lambda r: r.take(1),
    "take_all": lambda r: r.take(100),
    "take_none": lambda r: r.take(0),
    "first": lambda r: r.first(),
    "isEmpty": lambda r: r.isEmpty(),
    "top": lambda r: r.top(2),
    "takeOrdered": lambda r: r.takeOrdered(2),
    "takeSample": lambda r: r.takeSample(False, 2, 1),
    "reduce": lambda r: r.reduce(max),
    "fold": lambda r: r.values().fold(0, max),
    "aggregate": lambda r: r.values().aggregate(0, max, max),
    "treeReduce": lambda r: r.treeReduce(max),
    "treeReduce_of_many": lambda r: r.repartition(12).treeReduce(max),
    "treeAggregate": lambda r: r.values().treeAggregate(0, max, max),
    "foreach": lambda r: r.foreach(str),
    "foreachPartition": lambda r: r.foreachPartition(list),
    "countByKey": lambda r: r.countByKey(),
    "countByValue": lambda r: r.countByValue(),
    "reduceByKeyLocally": lambda r: r.reduceByKeyLocally(max),
    "lookup": lambda r: r.lookup(1),
    "lookup_placed": lambda r: r.partitionBy(2).lookup(1),
    "sum": lambda r: r.values().sum(),
    "max": lambda r: r.max(),
    "mean": lambda r: r.values().mean(),
    "stats": lambda r: r.values().stats(),
    "histogram": lambda r: r.values().histogram(2),
    "histogram_of_edges": lambda r: r.values().histogram([0, 2, 6]),
    "runJob": lambda r: r.ctx.runJob(r, list),
    "name": lambda r: r.map(tuple).name(),
    "printed": lambda r: str(r.map(tuple)),
    "checkpoint": lambda r: checkpointed(r.map(tuple)),
    "localCheckpoint": lambda r: locally_checkpointed(r.map(tuple)),
    "saveAsTextFile": lambda r: save(r.map(tuple)),
    "saveAsPickleFile": lambda r: save_rows(r.map(tuple)),
    "pickleFile": read_saved,
    "countApprox": lambda r: r.countApprox(10_000),
    "sumApprox": lambda r: r.values().sumApprox(10_000),
    "meanApprox": lambda r: r.values().meanApprox(10_000),
    "countApproxDistinct": lambda r: r.countApproxDistinct(),
    "broadcast": lambda r: r.ctx.broadcast(1),
    "collect_of_a_pipeline": lambda r: r.map(tuple).map(tuple).collect(),
    "collect_twice": lambda r: collected(collected(r.map(tuple))),
    "count_twice": lambda r: counted(counted(r.map(tuple))),
    "getNumPartitions": lambda r: r.getNumPartitions(),
    "toLocalIterator": lambda r: list(r.toLocalIterator()),
}


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
