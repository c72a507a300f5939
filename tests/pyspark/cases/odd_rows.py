"""Every kind of odd row through every kind of operator."""

import re
from operator import add

from tests.pyspark.api import api
from tests.pyspark.odd_values import UNSENDABLE, VALUES
from tests.pyspark.tables import add_programs

ADDRESS = re.compile(b"0x[0-9a-f]+")
# Their partitions are PySpark's; those of other keys that only the hash decides on are not.
ALIKE = (
    *("nones", "equal_numbers", "zeros", "infinities", "huge", "strings", "surrogates", "bytes"),
    *("decimals", "fractions", "deep", "namedtuples", "numpy_scalars"),
)


class Lists(api.AccumulatorParam):
    """Collects what tasks add."""

    def zero(self, value):
        return []

    def addInPlace(self, left, right):
        left.extend(right)
        return left


def itself(x):
    return x


def listed(groups):
    return groups.mapValues(lambda held: list(held))


def gather(held, x):
    held.append(x)
    return held


def accumulated(sc, rdd):
    seen = sc.accumulator([], Lists())
    rdd.foreach(lambda x: seen.add([x]))
    return seen.value


def captured(sc, rows):
    return sc.parallelize([0, 0], 2).map(lambda zero: rows[zero:]).collect()


def broadcast(sc, rows):
    shared = sc.broadcast(rows)
    return sc.parallelize([0, 0], 2).map(lambda zero: shared.value[zero:]).collect()


def kept_twice(rdd, level):
    kept = rdd.map(lambda x: [x]).persist(getattr(api.StorageLevel, level))
    return kept.collect(), kept.collect()


def as_text(rdd, folder):
    rdd.saveAsTextFile(str(folder / "text"))
    parts = sorted((folder / "text").glob("part-*"))
    return [ADDRESS.sub(b"0x", part.read_bytes()) for part in parts]


def as_pickles(sc, rdd, folder):
    rdd.saveAsPickleFile(str(folder / "pickles"), 2)
    return sc.pickleFile(str(folder / "pickles"), 3).collect()


def paired(rdd):
    return rdd.map(lambda x: (x, 1))


# Each is given the rows as they are, and as an RDD of three partitions.
EXACT = {
    "glom": lambda sc, folder, rows, rdd: rdd.glom().collect(),
    "map": lambda sc, folder, rows, rdd: rdd.map(lambda x: (x, [x, x])).collect(),
    "filter": lambda sc, folder, rows, rdd: rdd.filter(itself).collect(),
    "flatMap": lambda sc, folder, rows, rdd: rdd.flatMap(itself).collect(),
    "countByValue": lambda sc, folder, rows, rdd: dict(rdd.countByValue()),
    "sortBy": lambda sc, folder, rows, rdd: rdd.sortBy(itself, numPartitions=2).collect(),
    "sum": lambda sc, folder, rows, rdd: rdd.sum(),
    "aggregate": lambda sc, folder, rows, rdd: rdd.aggregate([], gather, add),
    "lookup": lambda sc, folder, rows, rdd: paired(rdd).lookup(rows[0]),
    "cache": lambda sc, folder, rows, rdd: kept_twice(rdd, "MEMORY_ONLY"),
    "broadcast": lambda sc, folder, rows, rdd: broadcast(sc, rows),
    "closure": lambda sc, folder, rows, rdd: captured(sc, rows),
    "saveAsTextFile": lambda sc, folder, rows, rdd: as_text(rdd, folder),
}
SORTED = {
    "distinct": lambda sc, folder, rows, rdd: rdd.distinct().collect(),
    "groupBy": lambda sc, folder, rows, rdd: listed(rdd.groupBy(itself)).collect(),
    "join": lambda sc, folder, rows, rdd: paired(rdd).join(paired(rdd)).collect(),
    "repartition": lambda sc, folder, rows, rdd: rdd.union(rdd).repartition(4).collect(),
    "partitionBy": lambda sc, folder, rows, rdd: paired(rdd).partitionBy(3).collect(),
    "accumulator": lambda sc, folder, rows, rdd: accumulated(sc, rdd),
    "saveAsPickleFile": lambda sc, folder, rows, rdd: as_pickles(sc, rdd, folder),
}
LAYOUT = {
    "partitions": lambda sc, folder, rows, rdd: paired(rdd).partitionBy(3).glom().collect(),
}
FEW_USES = ("glom", "map", "broadcast", "closure", "cache", "distinct", "accumulator")
SENDABLE = {name: make for name, make in VALUES.items() if name not in UNSENDABLE}


def with_rdd(use):
    return lambda sc, folder, rows: use(sc, folder, rows, sc.parallelize(rows, 3))


def add_all(uses, order, values):
    programs = {name: with_rdd(use) for name, use in uses.items()}
    few = {name: use for name, use in programs.items() if name in FEW_USES}
    add_programs("odd_rows", programs, values, order)
    add_programs("odd_rows", few, UNSENDABLE, order)


add_all(EXACT, "exact", SENDABLE)
add_all(SORTED, "sorted", SENDABLE)
add_all(LAYOUT, "layout", {name: VALUES[name] for name in ALIKE})
