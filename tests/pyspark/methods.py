"""The methods that must each have a recorded case."""


def names(text: str) -> list[str]:
    return text.split()


RDD_METHODS = names("""
aggregate aggregateByKey barrier cache cartesian checkpoint cleanShuffleDependencies coalesce
cogroup collect collectAsMap collectWithJobGroup combineByKey context count countApprox
countApproxDistinct countByKey countByValue distinct filter first flatMap flatMapValues fold
foldByKey foreach foreachPartition fullOuterJoin getCheckpointFile getNumPartitions
getStorageLevel glom groupBy groupByKey groupWith histogram id intersection isCheckpointed isEmpty
isLocallyCheckpointed join keyBy keys leftOuterJoin localCheckpoint lookup map mapPartitions
mapPartitionsWithIndex mapValues max mean meanApprox min name partitionBy persist pipe randomSplit
reduce reduceByKey reduceByKeyLocally repartition repartitionAndSortWithinPartitions
rightOuterJoin sample sampleByKey sampleStdev sampleVariance saveAsPickleFile saveAsTextFile
setName sortBy sortByKey stats stdev subtract subtractByKey sum sumApprox take takeOrdered
takeSample toDebugString toLocalIterator top treeAggregate treeReduce union unpersist values
variance zip zipWithIndex zipWithUniqueId __add__
""")

CONTEXT_METHODS = names("""
accumulator addArchive addFile addJobTag addPyFile applicationId binaryFiles binaryRecords
broadcast cancelAllJobs cancelJobGroup cancelJobsWithTag clearJobTags defaultMinPartitions
defaultParallelism emptyRDD getCheckpointDir getConf getJobTags getLocalProperty getOrCreate
listArchives listFiles parallelize pickleFile range removeJobTag runJob setCheckpointDir
setInterruptOnCancel setJobDescription setJobGroup setLocalProperty setLogLevel sparkUser
startTime statusTracker stop textFile union version wholeTextFiles __enter__
""")

CLASSES = names("""
SparkConf StorageLevel Broadcast Accumulator AccumulatorParam TaskContext BarrierTaskContext
SparkFiles StatCounter StatusTracker InheritableThread
""")

REQUIRED = [*RDD_METHODS, *(f"sc.{name}" for name in CONTEXT_METHODS), *CLASSES]
