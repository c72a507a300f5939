"""Groups whose values come in order: sorted in memory, after groupByKey."""

from pyspark import SparkContext

data = """john,5,2010
anna,7,2011
john,3,2009
john,9,2012
anna,1,2008
zoe,2,2010"""
sc = SparkContext("local", "groups")
rows = (
    sc.parallelize(data.splitlines())
    .map(lambda l: l.split(","))
    .map(lambda f: (f[0], (int(f[2]), int(f[1]))))
)
for name, values in sorted(rows.groupByKey().collect()):
    print(name, type(values).__name__, len(values), sorted(values))
print(rows.groupByKey().mapValues(lambda vs: sorted(vs)[-1]).sortByKey().collect())
sc.stop()
