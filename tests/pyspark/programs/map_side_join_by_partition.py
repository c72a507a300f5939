"""mapPartitions with a costly resource opened once for each partition."""

from pyspark import SparkContext


class Connection:
    opened = 0

    def __init__(self):
        Connection.opened += 1

    def look_up(self, key):
        return key * 10

    def close(self):
        pass


def process(rows):
    connection = Connection()
    for row in rows:
        yield row, connection.look_up(row)
    connection.close()


sc = SparkContext("local[2]", "partitions")
print(sc.parallelize(range(8), 4).mapPartitions(process).collect())
print(Connection.opened)
print(sc.parallelize(range(8), 4).mapPartitionsWithIndex(lambda i, it: [(i, list(it))]).collect())
print(sc.parallelize([], 3).mapPartitions(lambda it: [sum(1 for _ in it)]).collect())
