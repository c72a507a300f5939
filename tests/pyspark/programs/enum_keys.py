"""Enumerations, dates, tuples and None as keys."""

from datetime import date, timedelta
from enum import Enum

from pyspark import SparkContext


class Color(Enum):
    RED = 1
    GREEN = 2


sc = SparkContext("local[2]", "keys")
days = sc.parallelize([date(2020, 1, 1) + timedelta(days=i % 3) for i in range(9)], 3)
print(sorted(days.map(lambda d: (d, 1)).reduceByKey(lambda a, b: a + b).collect()))
print(
    sorted(
        sc.parallelize([(None, 1), ((1, "a"), 2), (None, 3), ((1, "a"), 4)])
        .groupByKey()
        .mapValues(sum)
        .collect(),
        key=repr,
    )
)
colors = sc.parallelize(["r", "g", "r"]).map(lambda c: Color.RED if c == "r" else Color.GREEN)
print(sorted((c.name, n) for c, n in colors.countByValue().items()))
print(
    sorted(
        sc.parallelize([1.0, 2, True, 3.5])
        .map(lambda x: (x, type(x).__name__))
        .reduceByKey(min)
        .collect()
    )
)
