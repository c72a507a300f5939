"""k-means with numpy vectors, as Spark's examples have it."""

import numpy as np

from pyspark.sql import SparkSession


def parseVector(line):
    return np.array([float(x) for x in line.split(" ")])


def closestPoint(p, centers):
    bestIndex = 0
    closest = float("+inf")
    for i in range(len(centers)):
        tempDist = np.sum((p - centers[i]) ** 2)
        if tempDist < closest:
            closest = tempDist
            bestIndex = i
    return bestIndex


if __name__ == "__main__":
    spark = SparkSession.builder.master("local[2]").appName("PythonKMeans").getOrCreate()
    lines = spark.sparkContext.parallelize(
        ["0.0 0.0 0.0", "0.1 0.1 0.1", "0.2 0.2 0.2", "9.0 9.0 9.0", "9.1 9.1 9.1", "9.2 9.2 9.2"]
    )
    data = lines.map(parseVector).cache()
    K = 2
    kPoints = data.take(K)
    tempDist = 1.0
    while tempDist > 0.01:
        closest = data.map(lambda p: (closestPoint(p, kPoints), (p, 1)))
        pointStats = closest.reduceByKey(
            lambda p1_c1, p2_c2: (p1_c1[0] + p2_c2[0], p1_c1[1] + p2_c2[1])
        )
        newPoints = pointStats.map(lambda st: (st[0], st[1][0] / st[1][1])).collect()
        tempDist = sum(np.sum((kPoints[iK] - p) ** 2) for (iK, p) in newPoints)
        for iK, p in newPoints:
            kPoints[iK] = p
    print("Final centers: " + str([np.round(c, 4).tolist() for c in kPoints]))
    spark.stop()
