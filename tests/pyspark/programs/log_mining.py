"""Loads error messages from a log into memory and asks for patterns."""

from pyspark import SparkContext

sc = SparkContext("local[2]", "Log mining")
LOG = []
for i in range(200):
    level = ["INFO", "WARN", "ERROR"][(i * i) % 3]
    part = ["mysql", "php", "nginx", "disk"][i % 4]
    LOG.append(
        "%s\t2014-01-%02d\t%s: request %d took %d ms" % (level, i % 28 + 1, part, i, i * 37 % 1000)
    )
lines = sc.parallelize(LOG, 4)
errors = lines.filter(lambda line: line.startswith("ERROR"))
messages = errors.map(lambda line: line.split("\t")).map(lambda fields: fields[2])
messages.cache()
for pattern in ["mysql", "php", "disk"]:
    print(pattern, messages.filter(lambda message: pattern in message).count())
print(messages.filter(lambda s: "nginx" in s).take(3))
print(
    errors.map(lambda line: (line.split("\t")[1], 1))
    .reduceByKey(lambda a, b: a + b)
    .takeOrdered(4, key=lambda kv: (-kv[1], kv[0]))
)
