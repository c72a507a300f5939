"""Sorts the lines of a text by length, then by alphabet: sort.py FILE [FOLDER]

With FOLDER the sorted lines are saved there, else they are printed.
"""

import sys

from pyspark import SparkConf, SparkContext

if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    conf = SparkConf().setAppName("sort")
    sc = SparkContext.getOrCreate(conf)
    lines = sc.textFile(sys.argv[1]).map(str.strip).filter(bool)
    in_order = lines.sortBy(lambda line: (len(line), line))
    if len(sys.argv) == 3:
        in_order.saveAsTextFile(sys.argv[2])
    else:
        for line in in_order.toLocalIterator():
            print(line)
    sc.stop()
