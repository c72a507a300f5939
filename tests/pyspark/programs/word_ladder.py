"""A search for the shortest way from a word to another, one letter at a time."""

from pyspark import SparkContext

WORDS = "cold cord card ward warm word worm form harm farm corm".split()


def apart(a, b):
    return sum(x != y for x, y in zip(a, b))


sc = SparkContext("local[2]", "ladder")
words = sc.parallelize(WORDS)
edges = words.cartesian(words).filter(lambda p: apart(*p) == 1).cache()
front = sc.parallelize([("cold", ["cold"])])
seen = {"cold"}
while not front.isEmpty():
    hits = front.filter(lambda p: p[0] == "warm").collect()
    if hits:
        print(min(path for _, path in hits))
        break
    known = sc.broadcast(set(seen))
    front = (
        edges.join(front)
        .map(lambda e: (e[1][0], e[1][1] + [e[1][0]]))
        .filter(lambda p: p[0] not in known.value)
    )
    front = front.reduceByKey(min).cache()
    seen.update(front.keys().collect())
print(len(seen))
