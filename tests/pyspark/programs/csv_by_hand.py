"""A CSV file read with csv.reader in each partition, its header dropped."""

import csv
import io

from pyspark import SparkContext

TEXT = '''name,city,amount
"Smith, John",London,10.5
Doe,"New ""York""",3
Lee,Paris,
'''
sc = SparkContext("local[2]", "csv")
lines = sc.parallelize(TEXT.splitlines(), 2)
header = lines.first()
rows = lines.filter(lambda l: l != header).mapPartitions(lambda ls: csv.reader(ls))
for row in rows.collect():
    print(row)


def to_line(row):
    out = io.StringIO()
    csv.writer(out).writerow(row)
    return out.getvalue().strip()


print(rows.map(to_line).collect())
print(rows.map(lambda r: float(r[2]) if r[2] else 0.0).sum())
skip = lines.zipWithIndex().filter(lambda li: li[1] > 0).keys()
print(skip.count())
