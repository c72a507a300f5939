"""No rows, one row, and more rows than fit into one batch, chunk or buffer."""

from operator import add

from tests.pyspark.tables import add_programs

# Rows and partitions; Pyrite takes rows in up to 4,096 at a time, PySpark in batches of 1,024.
SIZES = {
    "no_rows_in_one": lambda: (0, 1),
    "no_rows_in_many": lambda: (0, 5),
    "one_row_in_many": lambda: (1, 5),
    "two_chunks": lambda: (4_097, 1),
    "many_batches": lambda: (11_264, 2),
}


def numbers(sc, size):
    count, parts = size
    return sc.parallelize(range(count), parts)


def pairs(sc, size):
    return numbers(sc, size).map(lambda x: (x % 1009, x))


def odd_rows(sc, size):
    """Rows of another type now and then, so that no batch is of one kind."""
    return numbers(sc, size).map(
        lambda x: frozenset([x]) if x % 500 == 7 else [x] if x % 300 == 5 else (x, str(x))
    )


def shared_rows(sc, size):
    """Two parts of a row that are one object, which grows when either does."""
    return numbers(sc, size).map(lambda x: [[x]] * 2)


def grown(row):
    row[0].append(0)
    return len(row[1])


ORDERED = {
    "collect": lambda sc, folder, size: odd_rows(sc, size).collect(),
    "glom": lambda sc, folder, size: [len(part) for part in numbers(sc, size).glom().collect()],
    "take": lambda sc, folder, size: odd_rows(sc, size).take(4_100)[-3:],
    "first": lambda sc, folder, size: odd_rows(sc, size).first(),
    "zip": lambda sc, folder, size: numbers(sc, size).zip(odd_rows(sc, size)).collect(),
    "zipWithIndex": lambda sc, folder, size: odd_rows(sc, size).zipWithIndex().collect()[-2:],
    "sortBy": lambda sc, folder, size: numbers(sc, size).sortBy(lambda x: x % 13).collect(),
    "sortByKey": lambda sc, folder, size: pairs(sc, size).sortByKey(False, 3).keys().collect(),
    "sum": lambda sc, folder, size: numbers(sc, size).map(lambda x: x / 8).sum(),
    "reduce": lambda sc, folder, size: numbers(sc, size).reduce(add),
    "fold": lambda sc, folder, size: numbers(sc, size).fold(1, add),
    "max": lambda sc, folder, size: pairs(sc, size).max(),
    "stats": lambda sc, folder, size: numbers(sc, size).stats().count(),
    "mean": lambda sc, folder, size: numbers(sc, size).mean(),
    "histogram": lambda sc, folder, size: numbers(sc, size).histogram(3),
    "top": lambda sc, folder, size: numbers(sc, size).top(3, lambda x: x % 4_096),
    "takeSample": lambda sc, folder, size: numbers(sc, size).takeSample(False, 5, 42),
    "sample": lambda sc, folder, size: odd_rows(sc, size).sample(True, 0.3, 5).collect(),
    "pipe": lambda sc, folder, size: numbers(sc, size).pipe("wc -l").map(str.strip).collect(),
    "countByKey": lambda sc, folder, size: dict(pairs(sc, size).countByKey()),
    "lookup": lambda sc, folder, size: pairs(sc, size).lookup(7),
    "toLocalIterator": lambda sc, folder, size: list(odd_rows(sc, size).toLocalIterator()),
    "saveAsTextFile": lambda sc, folder, size: saved_text(sc, folder, size),
    "sharing": lambda sc, folder, size: sum(map(grown, shared_rows(sc, size).collect())),
    "cached_sharing": lambda sc, folder, size: shared_rows(sc, size).cache().map(grown).sum(),
}
UNORDERED = {
    "distinct": lambda sc, folder, size: numbers(sc, size).map(lambda x: x % 5000).distinct(),
    "groupByKey": lambda sc, folder, size: pairs(sc, size).groupByKey().mapValues(len),
    "reduceByKey": lambda sc, folder, size: pairs(sc, size).reduceByKey(add, 3),
    "aggregateByKey": lambda sc, folder, size: pairs(sc, size).aggregateByKey(0, max, add),
    "join": lambda sc, folder, size: pairs(sc, size).join(sc.parallelize([(7, 0), (8, 0)])),
    "cogroup": lambda sc, folder, size: (
        pairs(sc, size).cogroup(pairs(sc, size)).mapValues(lambda sides: tuple(map(len, sides)))
    ),
    "subtract": lambda sc, folder, size: numbers(sc, size).subtract(sc.parallelize([0, 4_096])),
    "intersection": lambda sc, folder, size: numbers(sc, size).intersection(numbers(sc, size)),
    "repartition": lambda sc, folder, size: odd_rows(sc, size).repartition(3),
    "partitionBy": lambda sc, folder, size: pairs(sc, size).partitionBy(3),
    "frozensets": lambda sc, folder, size: (
        numbers(sc, size).map(lambda x: (frozenset([x % 50]), 1)).reduceByKey(add)
    ),
}


def saved_text(sc, folder, size):
    odd_rows(sc, size).saveAsTextFile(str(folder / "out"))
    return sc.textFile(str(folder / "out")).count()


def collected(use):
    return lambda sc, folder, size: sorted(use(sc, folder, size).collect(), key=repr)


add_programs("odd_sizes", ORDERED, SIZES)
add_programs("odd_sizes", {name: collected(use) for name, use in UNORDERED.items()}, SIZES)
