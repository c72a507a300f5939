"""What runs when: nothing before an action, and what an action needs."""

from operator import add

from tests.pyspark.registry import case


def watched(sc, rows, slices):
    """An RDD, and how many of its records were computed."""
    seen = sc.accumulator(0)

    def see(row):
        seen.add(1)
        return row

    return sc.parallelize(rows, slices).map(see), seen


@case("map", "filter", "flatMap", "union", "glom")
def narrow_transformations_are_lazy(sc):
    rdd, seen = watched(sc, [(1, 2)], 1)
    rdd.map(str).filter(bool).flatMap(list).union(rdd).glom().mapPartitions(list)
    rdd.cartesian(rdd).keyBy(str).zip(rdd).coalesce(1)
    return seen.value


@case("reduceByKey", "groupByKey", "join", "distinct", "partitionBy", "repartition")
def shuffles_are_lazy(sc):
    rdd, seen = watched(sc, [(1, 2)], 2)
    rdd.reduceByKey(add).groupByKey().mapValues(list)
    rdd.join(rdd).cogroup(rdd)
    rdd.distinct().repartition(3)
    rdd.partitionBy(2).subtractByKey(rdd).intersection(rdd)
    rdd.cache().sample(False, 0.5, 1)
    return seen.value


@case("sortByKey", "sortBy")
def sorting_into_one_partition_is_lazy(sc):
    rdd, seen = watched(sc, [(1, 2)], 2)
    rdd.sortByKey(numPartitions=1)
    return seen.value


@case("sortBy")
def sorting_samples_at_once(sc):
    rdd, seen = watched(sc, [3, 1, 2], 2)
    rdd.sortBy(lambda x: x)
    return seen.value > 0


@case("zipWithIndex")
def zip_with_index_counts_all_but_the_last_partition_at_once(sc):
    rdd, seen = watched(sc, range(6), 3)
    rdd.zipWithIndex()
    return seen.value > 0


@case("zipWithIndex")
def zip_with_index_of_one_partition_is_lazy(sc):
    rdd, seen = watched(sc, range(6), 1)
    rdd.zipWithIndex()
    return seen.value


@case("toLocalIterator")
def local_iterator_computes_partitions_as_reached(sc):
    rdd, seen = watched(sc, range(6), 3)
    rows = rdd.toLocalIterator()
    next(rows)
    return seen.value <= 2


@case("reduceByKey")
def map_side_of_a_shuffle_runs_once(sc):
    rdd, seen = watched(sc, [(1, 1), (2, 2)], 2)
    reduced = rdd.reduceByKey(add)
    reduced.count()
    reduced.map(str).collect()
    return seen.value


@case("isEmpty", "first")
def first_and_is_empty_compute_one_partition(sc):
    rdd, seen = watched(sc, range(8), 4)
    rdd.isEmpty()
    rdd.first()
    return seen.value <= 4


@case("lookup")
def lookup_with_a_partitioner_computes_one_partition(sc):
    rdd = sc.parallelize([(n, n) for n in range(8)], 2).partitionBy(4)
    seen = sc.accumulator(0)

    def see(value):
        seen.add(1)
        return value

    return rdd.mapValues(see).lookup(5), seen.value


@case("sc.runJob")
def run_job_computes_the_partitions_asked_for(sc):
    rdd, seen = watched(sc, range(8), 4)
    sc.runJob(rdd, list, [1])
    return seen.value
