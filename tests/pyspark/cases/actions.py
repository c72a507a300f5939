"""Actions: what comes back to the driver."""

import warnings

from tests.pyspark.api import submodule
from tests.pyspark.registry import case, outcome


@case("collect")
def collect_of_nothing(sc):
    return sc.parallelize([], 3).collect(), sc.emptyRDD().collect()


@case("collect")
def collect_large_records(sc):
    return [len(row) for row in sc.parallelize(["x" * 200_000] * 4, 2).collect()]


@case("collect")
def collect_unicode(sc):
    return sc.parallelize(["ä", "日本", "\U0001f600", "\x00", "\ud7ff"], 2).collect()


@case("collectWithJobGroup")
def collect_with_job_group(sc):
    rdd = sc.parallelize(range(4), 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return rdd.collectWithJobGroup("a group", "what it does", interruptOnCancel=True)


@case("collectWithJobGroup")
def collect_with_job_group_shows_the_group_to_tasks(sc):
    TaskContext = submodule("taskcontext").TaskContext
    rdd = sc.parallelize([1], 1).map(
        lambda _: TaskContext.get().getLocalProperty("spark.jobGroup.id")
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return rdd.collectWithJobGroup(groupId="shown", description="to tasks")


@case("count")
def count_records(sc):
    return sc.parallelize([2, 3, None], 2).count(), sc.emptyRDD().count()


@case("count")
def count_empty_partitions(sc):
    return sc.parallelize([1], 5).count()


@case("first")
def first_record(sc):
    return sc.parallelize([2, 3, 4], 2).first()


@case("first")
def first_skips_empty_partitions(sc):
    return sc.parallelize(range(100), 10).filter(lambda x: x > 77).first()


@case("first")
def first_may_be_none(sc):
    return sc.parallelize([None, 1], 1).first()


@case("first")
def first_of_nothing(sc):
    return outcome(lambda: sc.parallelize([], 2).first()), outcome(lambda: sc.emptyRDD().first())


@case("take")
def take_some(sc):
    rdd = sc.parallelize([2, 3, 4, 5, 6], 2)
    return rdd.take(2), rdd.take(3), rdd.take(num=10)


@case("take")
def take_none_or_fewer(sc):
    rdd = sc.parallelize([1, 2], 2)
    return rdd.take(0), rdd.take(-1)


@case("take")
def take_over_empty_partitions(sc):
    return sc.parallelize(range(100), 100).filter(lambda x: x > 90).take(3)


@case("take")
def take_from_nothing(sc):
    return sc.parallelize([], 3).take(2), sc.emptyRDD().take(2)


@case("take", "accumulator")
def take_computes_no_more_partitions_than_needed(sc):
    seen = sc.accumulator(0)

    def see(rows):
        seen.add(1)
        return rows

    taken = sc.parallelize(range(20), 10).mapPartitions(see).take(1)
    return taken, seen.value


@case("take")
def take_grows_its_search(sc):
    seen = sc.accumulator(0)

    def see(rows):
        seen.add(1)
        return rows

    rdd = sc.parallelize(range(20), 20).mapPartitions(see)
    return rdd.filter(lambda x: x >= 6).take(1), seen.value


@case("take")
def take_does_not_read_on(sc):
    def until_three(rows):
        for row in rows:
            assert row < 3
            yield row

    rdd = sc.parallelize(range(10_000), 1).mapPartitions(until_three)
    return outcome(lambda: rdd.take(2))


@case("take")
def take_of_text_fails(sc):
    return outcome(lambda: sc.parallelize([1], 1).take("2"))


@case("isEmpty")
def is_empty(sc):
    return (
        sc.emptyRDD().isEmpty(),
        sc.parallelize([], 2).isEmpty(),
        sc.parallelize([1], 2).isEmpty(),
        sc.parallelize([None], 1).isEmpty(),
        sc.parallelize([1, 2], 2).filter(lambda x: x > 5).isEmpty(),
    )


@case("foreach", "accumulator")
def foreach_returns_nothing(sc):
    seen = sc.accumulator(0)
    result = sc.parallelize([1, 2, 3], 2).foreach(lambda x: seen.add(x))
    return result, seen.value


@case("foreachPartition", "accumulator")
def foreach_partition(sc):
    seen = sc.accumulator(0)
    result = sc.parallelize([1, 2, 3], 3).foreachPartition(lambda rows: seen.add(max(rows) * 10))
    return result, seen.value


@case("foreachPartition")
def foreach_partition_ignores_results(sc):
    return sc.parallelize([1, 2], 2).foreachPartition(f=list)


@case("foreach")
def foreach_of_a_failing_function(sc):
    return outcome(lambda: sc.parallelize([1], 1).foreach(lambda x: x / 0))


@case("top")
def top_some(sc):
    rdd = sc.parallelize([10, 4, 2, 12, 3], 2)
    return rdd.top(1), rdd.top(3), rdd.top(num=3, key=str), rdd.top(99)


@case("top")
def top_none_or_of_nothing(sc):
    return (
        sc.parallelize([1], 2).top(0),
        sc.parallelize([], 2).top(2),
        outcome(lambda: sc.emptyRDD().top(2)),
    )


@case("top")
def top_of_ties(sc):
    return sc.parallelize(["bb", "aa", "cc", "d"], 1).top(2, key=len)


@case("takeOrdered")
def take_ordered_some(sc):
    rdd = sc.parallelize([10, 1, 2, 9, 3, 4, 5, 6, 7], 2)
    return rdd.takeOrdered(6), rdd.takeOrdered(num=3, key=lambda x: -x), rdd.takeOrdered(99)


@case("takeOrdered")
def take_ordered_none_or_fewer(sc):
    rdd = sc.parallelize([2, 1], 2)
    return outcome(lambda: rdd.takeOrdered(0)), outcome(lambda: rdd.takeOrdered(-1))


@case("takeOrdered")
def take_ordered_of_nothing(sc):
    return (
        outcome(lambda: sc.emptyRDD().takeOrdered(2)),
        outcome(lambda: sc.parallelize([], 2).takeOrdered(2)),
    )


@case("takeOrdered")
def take_ordered_of_ties(sc):
    return sc.parallelize(["bb", "a", "cc", "d", "aa"], 1).takeOrdered(4, key=len)


@case("toLocalIterator")
def to_local_iterator(sc):
    rows = sc.parallelize(range(10), 3).toLocalIterator()
    return next(rows), next(rows), list(rows)


@case("toLocalIterator")
def to_local_iterator_with_prefetch(sc):
    return list(sc.parallelize(range(10), 3).toLocalIterator(prefetchPartitions=True))


@case("toLocalIterator")
def to_local_iterator_of_empty_partitions(sc):
    return list(sc.parallelize([1], 3).toLocalIterator()), list(sc.emptyRDD().toLocalIterator())


@case("toLocalIterator")
def to_local_iterator_fails_when_the_partition_is_reached(sc):
    rdd = sc.parallelize([0, 1, 2, 3], 4).map(lambda x: 6 // (2 - x))
    rows = rdd.toLocalIterator()
    taken = [next(rows), next(rows)]
    return taken, outcome(lambda: rows, lambda rest: list(rest))


@case("sc.runJob")
def run_job_on_all_partitions(sc):
    return sc.runJob(sc.parallelize(range(6), 3), lambda rows: [x * x for x in rows])


@case("sc.runJob")
def run_job_on_some_partitions(sc):
    rdd = sc.parallelize(range(6), 3)
    return (
        sc.runJob(rdd, lambda rows: [sum(rows)], [2, 0]),
        sc.runJob(rdd, lambda rows: rows, partitions=[1], allowLocal=True),
        sc.runJob(rdd, lambda rows: rows, []),
    )


@case("sc.runJob")
def run_job_on_a_missing_partition_fails(sc):
    return outcome(lambda: sc.runJob(sc.parallelize([1], 1), lambda rows: rows, [3]))
