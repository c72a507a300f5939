"""The longest Collatz sequence below a number."""

from pyspark import SparkContext


def length(n):
    steps = 1
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


sc = SparkContext("local[2]", "collatz")
lengths = sc.parallelize(range(1, 3000), 6).map(lambda n: (length(n), n))
print(lengths.max())
print(lengths.top(3))
print(lengths.keys().stats())
