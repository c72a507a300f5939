"""A web server's log: parsed by a regular expression, with statistics, codes and paths."""

import datetime
import re

from pyspark import SparkContext
from pyspark.sql import Row

PATTERN = re.compile(
    r'^(\S+) (\S+) (\S+) \[([\w:/]+\s[+\-]\d{4})\] "(\S+) (\S+)\s*(\S*)\s*" (\d{3}) (\S+)'
)
MONTHS = {"Jul": 7, "Aug": 8}


def parse_time(s):
    return datetime.datetime(
        int(s[7:11]), MONTHS[s[3:6]], int(s[0:2]), int(s[12:14]), int(s[15:17]), int(s[18:20])
    )


def parse_line(line):
    match = PATTERN.search(line)
    if match is None:
        return (line, 0)
    size = match.group(9)
    return (
        Row(
            host=match.group(1),
            date_time=parse_time(match.group(4)),
            method=match.group(5),
            endpoint=match.group(6),
            response_code=int(match.group(8)),
            content_size=0 if size == "-" else int(size),
        ),
        1,
    )


hosts = ["in24.inetnebr.com", "uplherc.upl.com", "slppp6.intermind.net", "piweba4y.prodigy.com"]
raw = []
for i in range(120):
    code = 404 if i % 11 == 0 else 304 if i % 7 == 0 else 200
    size = "-" if code == 404 else str(i * 131 % 5000)
    raw.append(
        '%s - - [%02d/Aug/1995:%02d:00:%02d -0400] "GET /path/%d.html HTTP/1.0" %d %s'
        % (hosts[i % 4], i % 20 + 1, i % 24, i % 60, i % 9, code, size)
    )
raw.append("this is no line of a log")

sc = SparkContext.getOrCreate()
parsed = sc.parallelize(raw, 3).map(parse_line).cache()
access = parsed.filter(lambda s: s[1] == 1).map(lambda s: s[0]).cache()
failed = parsed.filter(lambda s: s[1] == 0).map(lambda s: s[0])
print("Read %d lines, parsed %d, failed %d" % (parsed.count(), access.count(), failed.count()))
for line in failed.take(5):
    print("Invalid logline: %s" % line)
sizes = access.map(lambda log: log.content_size).cache()
print(
    "Content Size Avg: %i, Min: %i, Max: %s"
    % (sizes.reduce(lambda a, b: a + b) / sizes.count(), sizes.min(), sizes.max())
)
codes = access.map(lambda log: (log.response_code, 1)).reduceByKey(lambda a, b: a + b).cache()
print("Response Code Counts: %s" % sorted(codes.take(100)))
top = (
    access.map(lambda log: (log.endpoint, 1))
    .reduceByKey(lambda a, b: a + b)
    .takeOrdered(3, lambda s: (-1 * s[1], s[0]))
)
print("Top Endpoints: %s" % top)
print("Unique hosts:", access.map(lambda log: log.host).distinct().count())
daily = (
    access.map(lambda log: (log.date_time.day, log.host))
    .groupByKey()
    .mapValues(lambda h: len(set(h)))
    .sortByKey()
)
print(daily.take(6))
bad = access.filter(lambda log: log.response_code == 404)
print(bad.map(lambda log: log.endpoint).distinct().takeOrdered(5))
print(bad.first())
