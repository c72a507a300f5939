"""Blank lines and bad records counted beside the work."""

from pyspark import SparkContext
from pyspark.accumulators import AccumulatorParam


class SetParam(AccumulatorParam):
    def zero(self, value):
        return set()

    def addInPlace(self, one, two):
        if isinstance(two, set):
            return one | two
        return one | {two}


class VectorParam(AccumulatorParam):
    def zero(self, value):
        return [0.0] * len(value)

    def addInPlace(self, val1, val2):
        for i in range(len(val1)):
            val1[i] += val2[i]
        return val1


sc = SparkContext("local[2]", "counters")
blankLines = sc.accumulator(0)
bad = sc.accumulator(set(), SetParam())
total = sc.accumulator([0.0, 0.0], VectorParam())


def parse(line):
    global blankLines
    if line == "":
        blankLines += 1
        return []
    try:
        x, y = line.split()
        total.add([float(x), float(y)])
        return [(float(x), float(y))]
    except ValueError:
        bad.add(line)
        return []


rows = sc.parallelize(["1 2", "", "x y", "3 4.5", "", "7", "2 2", "x y"], 3).flatMap(parse)
print("before", blankLines.value)
print(rows.count())
print("Blank lines: %d" % blankLines.value)
print(sorted(bad.value))
print(total.value)
print(repr(blankLines), str(blankLines))
