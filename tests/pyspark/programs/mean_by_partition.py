"""Partial sums in each partition, added by the driver."""

from pyspark import SparkContext


def partitionCtr(nums):
    sumCount = [0, 0]
    for num in nums:
        sumCount[0] += num
        sumCount[1] += 1
    return [sumCount]


def fastAvg(nums):
    sumCount = nums.mapPartitions(partitionCtr).reduce(lambda a, b: (a[0] + b[0], a[1] + b[1]))
    return sumCount[0] / float(sumCount[1])


if __name__ == "__main__":
    sc = SparkContext("local[2]", "Sum")
    print(fastAvg(sc.parallelize([1, 2, 3, 4])))
    print(sc.parallelize(range(10), 4).mapPartitions(partitionCtr).collect())
    print(sc.runJob(sc.parallelize(range(10), 4), lambda it: [sum(it)], [0, 2]))
