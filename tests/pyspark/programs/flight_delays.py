"""Flights and airlines: named tuples, joins and means."""

import csv
from collections import namedtuple
from datetime import datetime
from io import StringIO

from pyspark import SparkConf, SparkContext

APP_NAME = "Flight Delay Analysis"
DATE_FMT = "%Y-%m-%d"
TIME_FMT = "%H%M"
fields = ("date", "airline", "origin", "dest", "dep_delay", "arr_delay")
Flight = namedtuple("Flight", fields)


def parse(row):
    row[0] = datetime.strptime(row[0], DATE_FMT).date()
    row[4] = float(row[4])
    row[5] = float(row[5])
    return Flight(*row[:6])


def split(line):
    return next(csv.reader(StringIO(line)))


def main(sc):
    airlines = dict(
        sc.parallelize(['AA,"American, Inc."', "UA,United", "DL,Delta"]).map(split).collect()
    )
    lookup = sc.broadcast(airlines)
    rows = [
        "2014-04-%02d,%s,JFK,LAX,%.2f,%.2f"
        % (i % 28 + 1, ["AA", "UA", "DL"][i % 3], i * 1.5 % 17, i * 2.5 % 13 - 4)
        for i in range(60)
    ]
    flights = sc.parallelize(rows, 3).map(split).map(parse)
    print(flights.first())
    delays = flights.map(lambda f: (lookup.value[f.airline], f.dep_delay + f.arr_delay))
    for name, total in sorted(delays.reduceByKey(lambda a, b: a + b).collect(), key=lambda d: d[1]):
        print("%0.0f minutes delayed\t%s" % (total, name))
    by_month = flights.map(lambda f: (f.date.strftime("%Y-%m"), f.arr_delay > 0)).groupByKey()
    print(by_month.mapValues(lambda late: sum(late) / len(late)).collect())


if __name__ == "__main__":
    conf = SparkConf().setMaster("local[*]")
    conf = conf.setAppName(APP_NAME)
    main(SparkContext(conf=conf))
