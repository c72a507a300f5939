"""The transitive closure of a random graph, by joining paths with edges until nothing is new."""

from random import Random

from pyspark.sql import SparkSession

numEdges = 60
numVertices = 40
rand = Random(42)


def generateGraph():
    edges = set()
    while len(edges) < numEdges:
        src = rand.randrange(0, numVertices)
        dst = rand.randrange(0, numVertices)
        if src != dst:
            edges.add((src, dst))
    return edges


spark = SparkSession.builder.master("local[2]").appName("PythonTransitiveClosure").getOrCreate()
tc = spark.sparkContext.parallelize(sorted(generateGraph()), 2).cache()
edges = tc.map(lambda x_y: (x_y[1], x_y[0]))
oldCount = 0
nextCount = tc.count()
while True:
    oldCount = nextCount
    new_edges = tc.join(edges).map(lambda __a_b: (__a_b[1][1], __a_b[1][0]))
    tc = tc.union(new_edges).distinct(2).cache()
    nextCount = tc.count()
    if nextCount == oldCount:
        break
print("TC has %i edges" % tc.count())
spark.stop()
