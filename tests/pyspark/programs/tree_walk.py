"""Managers above each employee, by joining until nobody is left."""

from pyspark import SparkContext

sc = SparkContext("local[2]", "tree")
boss = sc.parallelize(
    [("ann", "bob"), ("bob", "cid"), ("cid", "dan"), ("eve", "bob"), ("dan", None)]
).cache()
chain = boss.filter(lambda kv: kv[1]).map(lambda kv: (kv[1], (kv[0], [kv[1]])))
done = {}
while chain.count():
    for _, (who, path) in chain.collect():
        done[who] = path
    chain = (
        chain.join(boss)
        .filter(lambda x: x[1][1])
        .map(lambda x: (x[1][1], (x[1][0][0], x[1][0][1] + [x[1][1]])))
    )
for who in sorted(done):
    print(who, "->", " -> ".join(done[who]))
