"""Iterations whose lineage is cut by checkpoints."""

import tempfile

from pyspark import SparkContext, StorageLevel

sc = SparkContext("local[2]", "iterations")
sc.setCheckpointDir(tempfile.mkdtemp())
rdd = sc.parallelize(range(20), 2).map(lambda x: (x % 5, 1.0))
for i in range(6):
    rdd = (
        rdd.reduceByKey(lambda a, b: a + b)
        .mapValues(lambda v: v * 0.9 + 1)
        .persist(StorageLevel.MEMORY_AND_DISK)
    )
    if i % 2 == 1:
        rdd.checkpoint()
        rdd.count()
        print(i, rdd.isCheckpointed(), rdd.getCheckpointFile() is not None)
print(sorted((k, round(v, 6)) for k, v in rdd.collect()))
print(rdd.getStorageLevel(), rdd.is_cached)
rdd.unpersist()
print(rdd.is_cached)
