"""PageRank as Spark's examples have it, with arguments."""

import re
import sys
from operator import add

from pyspark.sql import SparkSession


def computeContribs(urls, rank):
    num_urls = len(urls)
    for url in urls:
        yield (url, rank / num_urls)


def parseNeighbors(urls):
    parts = re.split(r"\s+", urls)
    return parts[0], parts[1]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print("Usage: pagerank <iterations>", file=sys.stderr)
        sys.exit(-1)
    spark = SparkSession.builder.appName("PythonPageRank").getOrCreate()
    edges = ["1 2", "1 3", "1 4", "2 1", "3 1", "4 1", "4 2", "4 2", "5 4"]
    lines = spark.sparkContext.parallelize(edges, 3)
    links = lines.map(lambda urls: parseNeighbors(urls)).distinct().groupByKey().cache()
    ranks = links.map(lambda url_neighbors: (url_neighbors[0], 1.0))
    for iteration in range(int(sys.argv[1])):
        contribs = links.join(ranks).flatMap(
            lambda url_urls_rank: computeContribs(url_urls_rank[1][0], url_urls_rank[1][1])
        )
        ranks = contribs.reduceByKey(add).mapValues(lambda rank: rank * 0.85 + 0.15)
    for link, rank in sorted(ranks.collect()):
        print("%s has rank: %.9f." % (link, rank))
    spark.stop()
