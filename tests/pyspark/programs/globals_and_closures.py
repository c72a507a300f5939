"""What closures capture, when, and what tasks can not change."""

from pyspark import SparkContext

sc = SparkContext("local[2]", "closures")
counter = 0
factor = 2
rdd = sc.parallelize(range(5), 2)


def increment(x):
    global counter
    counter += x


rdd.foreach(increment)
print("Counter value:", counter)
scaled = rdd.map(lambda x: x * factor)
factor = 100
print(scaled.collect())
factor = 7
print(scaled.collect(), scaled.count())
adders = [rdd.map(lambda x, n=n: x + n).sum() for n in range(3)]
print(adders)
late = [rdd.map(lambda x: x + n) for n in range(3)]
print([r.sum() for r in late])


class Multiplier:
    def __init__(self, n):
        self.n = n

    def __call__(self, x):
        return x * self.n

    def apply(self, data):
        return data.map(self).collect()


print(Multiplier(3).apply(rdd))
