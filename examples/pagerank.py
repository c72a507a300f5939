"""Ranks pages by the links between them: pagerank.py FILE [ROUNDS]

Each line of FILE has a page and a page that it links to.
"""

import sys
from operator import add

from pyspark.sql import SparkSession


def shares(targets, rank):
    for target in targets:
        yield target, rank / len(targets)


def main(path: str, rounds: int) -> None:
    spark = SparkSession.builder.appName("PageRank").getOrCreate()
    lines = spark.read.text(path).rdd.map(lambda row: row[0].split())
    links = lines.map(tuple).distinct().groupByKey().mapValues(list).cache()
    ranks = links.mapValues(lambda _: 1.0)
    for _ in range(rounds):
        received = links.join(ranks).values().flatMap(lambda pair: shares(*pair))
        ranks = received.reduceByKey(add).mapValues(lambda rank: 0.15 + 0.85 * rank)
    for page, rank in sorted(ranks.collect(), key=lambda pair: (-round(pair[1], 6), pair[0])):
        print(f"{rank:.4f} {page}")
    spark.stop()


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10)
