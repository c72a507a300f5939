"""Programs that catch what goes wrong in tasks and in the driver."""

from py4j.protocol import Py4JJavaError

from pyspark import SparkContext

sc = SparkContext("local[2]", "errors")
sc.setLogLevel("OFF")
rdd = sc.parallelize([1, 2, 0, 4], 2)
try:
    rdd.map(lambda x: 10 // x).collect()
except Py4JJavaError as e:
    print("caught", "ZeroDivisionError" in str(e))
try:
    sc.emptyRDD().reduce(lambda a, b: a + b)
except ValueError as e:
    print(e)
try:
    sc.emptyRDD().first()
except ValueError as e:
    print(e)
try:
    rdd.map(lambda x: rdd.count()).collect()
except Exception as e:
    print(type(e).__name__)
try:
    SparkContext("local", "second")
except ValueError as e:
    print(str(e).split(";")[0][:42])
print(rdd.filter(lambda x: x).map(lambda x: 10 // x).collect())
