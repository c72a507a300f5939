"""Primes by filtering, and by a broadcast of small primes."""

from pyspark import SparkContext

N = 500
sc = SparkContext("local[2]", "primes")
composite = sc.parallelize(range(2, N), 8).flatMap(lambda i: range(2 * i, N, i)).distinct()
primes = sc.parallelize(range(2, N), 8).subtract(composite)
found = sorted(primes.collect())
print(len(found), found[:10], found[-3:])
small = sc.broadcast([p for p in found if p * p < N])
again = sc.range(2, N).filter(lambda n: all(n % p or n == p for p in small.value))
print(again.collect() == found)
