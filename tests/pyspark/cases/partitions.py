"""Numbers of partitions and partitioners, kept or lost."""

from operator import add

from tests.pyspark.registry import case, fails, outcome

PAIRS = [(n, n * n) for n in range(8)]


@case("sc.parallelize")
def parallelize_layouts_of_lists(sc):
    return [
        sc.parallelize(list(range(7)), slices).glom().collect() for slices in (1, 2, 3, 5, 7, 9)
    ]


@case("sc.parallelize")
def parallelize_layouts_of_ranges(sc):
    return [sc.parallelize(range(7), slices).glom().collect() for slices in (1, 2, 3, 5, 9)]


@case("sc.parallelize")
def parallelize_by_default(sc):
    return sc.parallelize([1, 2, 3]).glom().collect(), sc.parallelize(range(3)).glom().collect()


@case("sc.parallelize")
def parallelize_other_iterables(sc):
    return (
        sc.parallelize((n for n in range(3)), 2).collect(),
        sc.parallelize("abc", 2).collect(),
        sc.parallelize({"k": 1}, 1).collect(),
        sc.parallelize((1, 2), 1).collect(),
        sc.parallelize(iter([4]), numSlices=1).collect(),
        sc.parallelize(c={7}, numSlices="1").collect(),
    )


@case("sc.parallelize")
def parallelize_into_no_slices_fails(sc):
    return (
        fails(lambda: sc.parallelize([1], 0).collect()),
        fails(lambda: sc.parallelize(range(3), 0).collect()),
        fails(lambda: sc.parallelize([1], -1).collect()),
        outcome(lambda: sc.parallelize(5)),
    )


@case("sc.parallelize")
def parallelize_takes_a_copy(sc):
    rows = [1, 2]
    rdd = sc.parallelize(rows, 1)
    rows.append(3)
    return rdd.collect()


@case("sc.parallelize")
def parallelize_ranges_with_steps(sc):
    return (
        sc.parallelize(range(0, 6, 2), 5).glom().collect(),
        sc.parallelize(range(10, 0, -3), 2).glom().collect(),
        sc.parallelize(range(5, 6), 2).glom().collect(),
        sc.parallelize(range(0), 2).glom().collect(),
    )


@case("sc.range")
def range_like_the_builtin(sc):
    return (
        sc.range(5).collect(),
        sc.range(2, 4).collect(),
        sc.range(1, 7, 2).collect(),
        sc.range(5, 0, -1).collect(),
        sc.range(0, 5, -1).collect(),
        sc.range(start=3, end=5, step=1, numSlices=1).collect(),
    )


@case("sc.range")
def range_layouts(sc):
    return sc.range(5, numSlices=3).glom().collect(), sc.range(0, 7, 3, 2).glom().collect()


@case("sc.range")
def range_number_of_partitions(sc):
    return [
        sc.range(5).getNumPartitions(),
        sc.range(5, numSlices=1).getNumPartitions(),
        sc.range(5, numSlices=10).getNumPartitions(),
        sc.range(0).getNumPartitions(),
    ]


@case("sc.range")
def range_with_step_zero(sc):
    return outcome(lambda: sc.range(0, 5, 0))


@case("sc.emptyRDD")
def empty_rdd(sc):
    rdd = sc.emptyRDD()
    return rdd.getNumPartitions(), rdd.collect(), rdd.count(), rdd.glom().collect()


@case("sc.emptyRDD", "union")
def empty_rdd_in_unions(sc):
    rdd = sc.emptyRDD().union(sc.parallelize([1], 2)).union(sc.emptyRDD())
    return rdd.getNumPartitions(), rdd.collect()


@case("sc.union")
def union_of_many(sc):
    rdd = sc.union([sc.parallelize([n], 2) for n in range(3)])
    return rdd.getNumPartitions(), rdd.glom().collect()


@case("sc.union")
def union_of_one_and_none(sc):
    return (
        sc.union([sc.parallelize([1], 2)]).glom().collect(),
        fails(lambda: sc.union([])),
    )


@case("sc.union")
def union_of_other_sources(sc, folder):
    path = folder / "lines.txt"
    path.write_text("hello\n")
    rdd = sc.union(rdds=[sc.textFile(str(path), 1), sc.parallelize([1], 1)])
    return rdd.collect()


@case("getNumPartitions")
def number_of_partitions_of_narrow_rdds(sc):
    rdd = sc.parallelize(PAIRS, 3)
    return [
        each.getNumPartitions()
        for each in (
            rdd.map(str),
            rdd.filter(bool),
            rdd.flatMap(str),
            rdd.mapPartitions(list),
            rdd.glom(),
            rdd.keys(),
            rdd.sample(False, 0.5, 1),
            rdd.zipWithIndex(),
            rdd.cartesian(rdd),
            rdd.union(rdd),
            rdd.pipe("cat"),
        )
    ]


@case("getNumPartitions")
def number_of_partitions_of_wide_rdds(sc):
    rdd = sc.parallelize(PAIRS, 3)
    return [
        each.getNumPartitions()
        for each in (
            rdd.reduceByKey(add),
            rdd.groupByKey(),
            rdd.combineByKey(str, add, add),
            rdd.aggregateByKey(0, add, add),
            rdd.foldByKey(0, add),
            rdd.partitionBy(5),
            rdd.partitionBy(None),
            rdd.repartition(4),
            rdd.sortByKey(),
            rdd.sortBy(str),
            rdd.groupBy(str),
            rdd.distinct(),
            rdd.repartitionAndSortWithinPartitions(),
        )
    ]


@case("getNumPartitions", context="fresh", conf={"spark.default.parallelism": "5"})
def number_of_partitions_with_a_default_parallelism(sc):
    rdd = sc.parallelize(PAIRS, 3)
    return [
        sc.defaultParallelism,
        sc.defaultMinPartitions,
        sc.parallelize(PAIRS).getNumPartitions(),
        rdd.reduceByKey(add).getNumPartitions(),
        rdd.groupByKey().getNumPartitions(),
        rdd.join(rdd).getNumPartitions(),
        rdd.cogroup(rdd).getNumPartitions(),
        rdd.distinct().getNumPartitions(),
        rdd.sortByKey().getNumPartitions(),
        rdd.subtract(rdd).getNumPartitions(),
        rdd.intersection(rdd).getNumPartitions(),
        rdd.partitionBy(None).getNumPartitions(),
    ]


@case("coalesce")
def coalesce_layouts(sc):
    rdd = sc.parallelize(range(10), 5)
    return [rdd.coalesce(number).glom().collect() for number in (1, 2, 3, 4, 5)]


@case("coalesce")
def coalesce_layouts_of_many(sc):
    rdd = sc.parallelize(range(17), 17)
    return [rdd.coalesce(number).glom().collect() for number in (2, 5, 16)]


@case("coalesce")
def coalesce_never_grows_without_a_shuffle(sc):
    rdd = sc.parallelize(range(4), 2)
    return rdd.coalesce(5).getNumPartitions(), rdd.coalesce(5, shuffle=True).getNumPartitions()


@case("coalesce", order="sorted")
def coalesce_with_a_shuffle(sc):
    return sc.parallelize(range(6), 3).coalesce(numPartitions=2, shuffle=True).collect()


@case("coalesce")
def coalesce_to_nothing_fails(sc):
    rdd = sc.parallelize(range(4), 2)
    return (
        outcome(lambda: rdd.coalesce(0), lambda r: r.collect()),
        outcome(lambda: rdd.coalesce(-1), lambda r: r.collect()),
        outcome(lambda: rdd.repartition(0), lambda r: r.collect()),
    )


@case("coalesce")
def coalesce_of_nothing(sc):
    rdd = sc.emptyRDD()
    return rdd.coalesce(2).getNumPartitions(), rdd.coalesce(2).collect()


@case("repartition")
def repartition_number_and_records(sc):
    rdd = sc.parallelize(range(20), 4)
    return [
        (each.getNumPartitions(), sorted(each.collect()) == list(range(20)))
        for each in (rdd.repartition(2), rdd.repartition(numPartitions=10))
    ]


@case("repartition")
def repartition_spreads_evenly(sc):
    sizes = sc.parallelize(range(1000), 1).repartition(4).glom().map(len).collect()
    return len(sizes), sum(sizes), max(sizes) - min(sizes) <= 20


@case("repartition")
def repartition_of_nothing(sc):
    return sc.emptyRDD().repartition(3).glom().collect()


@case("sc.defaultParallelism", "sc.defaultMinPartitions")
def defaults(sc):
    return sc.defaultParallelism, sc.defaultMinPartitions


@case("context")
def context_of_rdds(sc):
    rdd = sc.parallelize([1], 1)
    return rdd.context is sc, rdd.map(str).context is sc, rdd.ctx is sc
