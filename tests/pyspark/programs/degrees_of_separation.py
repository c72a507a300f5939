"""A breadth-first search over a graph of heroes, with an accumulator as the signal."""

from pyspark import SparkConf, SparkContext

conf = SparkConf().setMaster("local[2]").setAppName("DegreesOfSeparation")
sc = SparkContext(conf=conf)

startCharacterID = 1
targetCharacterID = 14
hitCounter = sc.accumulator(0)
GRAPH = ["1 2 3", "2 1 4", "3 1 5 6", "4 2 7", "5 3", "6 3 8", "7 4 9", "8 6 14", "9 7", "14 8"]


def convertToBFS(line):
    fields = line.split()
    heroID = int(fields[0])
    connections = [int(c) for c in fields[1:]]
    color = "WHITE"
    distance = 9999
    if heroID == startCharacterID:
        color = "GRAY"
        distance = 0
    return (heroID, (connections, distance, color))


def bfsMap(node):
    characterID, (connections, distance, color) = node
    results = []
    if color == "GRAY":
        for connection in connections:
            if targetCharacterID == connection:
                hitCounter.add(1)
            results.append((connection, ([], distance + 1, "GRAY")))
        color = "BLACK"
    results.append((characterID, (connections, distance, color)))
    return results


def bfsReduce(data1, data2):
    edges = data1[0] + data2[0]
    distance = min(data1[1], data2[1])
    rank = {"WHITE": 0, "GRAY": 1, "BLACK": 2}
    color = max(data1[2], data2[2], key=rank.get)
    return (edges, distance, color)


iterationRdd = sc.parallelize(GRAPH).map(convertToBFS)
for iteration in range(0, 10):
    print("Running BFS iteration# " + str(iteration + 1))
    mapped = iterationRdd.flatMap(bfsMap)
    print("Processing " + str(mapped.count()) + " values.")
    if hitCounter.value > 0:
        print(
            "Hit the target character! From " + str(hitCounter.value) + " different direction(s)."
        )
        break
    iterationRdd = mapped.reduceByKey(bfsReduce)
