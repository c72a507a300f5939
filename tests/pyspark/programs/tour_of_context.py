"""What a context says of itself."""

from pyspark import SparkConf, SparkContext

conf = (
    SparkConf()
    .setAppName("tour")
    .setMaster("local[2]")
    .set("spark.executor.memory", "1g")
    .set("my.own.setting", "7")
)
sc = SparkContext(conf=conf)
print(sc.appName, sc.master, sc.defaultParallelism, sc.defaultMinPartitions)
print(
    sc.getConf().get("spark.executor.memory"),
    sc.getConf().get("my.own.setting"),
    sc.getConf().get("none", "fallback"),
)
print(
    conf.contains("spark.master"),
    conf.contains("spark.none"),
    ("my.own.setting", "7") in conf.getAll(),
)
print(sc is SparkContext.getOrCreate(), sc.applicationId.startswith("local-"), len(sc.version) > 0)
sc.setJobGroup("group", "a description")
print(sc.getLocalProperty("spark.jobGroup.id"), sc.getLocalProperty("spark.job.description"))
print(
    sc.parallelize(range(100)).getNumPartitions(), sc.parallelize(range(100), 7).getNumPartitions()
)
print(sc.statusTracker().getActiveJobsIds())
sc.stop()
sc = SparkContext("local", "again")
print(sc.appName, sc.parallelize([1]).count())
