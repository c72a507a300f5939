"""JSON lines parsed, summed and written as JSON again."""

import json

from pyspark import SparkContext

sc = SparkContext("local[2]", "json")
lines = [
    '{"user": "a", "tags": ["x", "y"], "n": 1}',
    '{"user": "b", "tags": [], "n": 2.5}',
    "broken {",
    '{"user": "a", "tags": ["y"], "n": null}',
]


def parse(line):
    try:
        return [json.loads(line)]
    except json.JSONDecodeError:
        return []


records = sc.parallelize(lines).flatMap(parse)
print(records.map(lambda r: sorted(r)).first())
print(sorted(records.flatMap(lambda r: r["tags"]).countByValue().items()))
print(
    sorted(
        records.map(lambda r: (r["user"], r["n"] or 0)).reduceByKey(lambda a, b: a + b).collect()
    )
)
print(records.map(lambda r: json.dumps(r, sort_keys=True)).collect())
