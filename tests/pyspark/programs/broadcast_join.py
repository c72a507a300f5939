"""A small table broadcast to the tasks, against a join."""

from pyspark import SparkContext, SparkConf

countries = {"DE": "Germany", "FR": "France", "IT": "Italy"}
sales = [("DE", 10.5), ("FR", 3.25), ("XX", 1.0), ("DE", 2.0), ("IT", 7.75), ("FR", 4.0)]


class Enricher(object):
    def __init__(self, table):
        self.table = table

    def name(self, code):
        return self.table.value.get(code, "unknown")

    def enrich(self, rdd):
        table = self.table
        return rdd.map(lambda s: (table.value.get(s[0], "unknown"), s[1]))


sc = SparkContext(conf=SparkConf().setMaster("local[2]").setAppName("broadcast"))
table = sc.broadcast(countries)
rows = sc.parallelize(sales, 2)
print(sorted(Enricher(table).enrich(rows).reduceByKey(lambda a, b: a + b).collect()))
joined = rows.leftOuterJoin(sc.parallelize(list(countries.items()))).map(
    lambda r: (r[1][1] or "unknown", r[1][0])
)
print(sorted(joined.reduceByKey(lambda a, b: a + b).collect()))
table.unpersist()
print(table.value["DE"])
table.destroy()
sc.stop()
