"""Shortest paths from a source with weights, as rounds of relaxing."""

from pyspark import SparkContext

INF = float("inf")
GRAPH = {
    "s": [("a", 4), ("b", 1)],
    "a": [("c", 1)],
    "b": [("a", 2), ("c", 5)],
    "c": [("d", 3)],
    "d": [],
    "lonely": [("s", 1)],
}


def relax(node):
    name, (edges, distance) = node
    yield name, (edges, distance)
    if distance < INF:
        for other, weight in edges:
            yield other, (None, distance + weight)


def merge(one, two):
    return (one[0] if one[0] is not None else two[0], min(one[1], two[1]))


def main():
    sc = SparkContext("local[2]", "paths")
    nodes = sc.parallelize(sorted(GRAPH.items())).map(
        lambda kv: (kv[0], (kv[1], 0 if kv[0] == "s" else INF))
    )
    for i in range(len(GRAPH)):
        nodes = nodes.flatMap(relax).reduceByKey(merge)
        print(i, sorted(nodes.mapValues(lambda v: v[1]).collect()))
    sc.stop()


if __name__ == "__main__":
    main()
