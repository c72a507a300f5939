"""Counts the words of a text: wordcount.py FILE [HOW_MANY]"""

import re
import sys
from operator import add

from pyspark.sql import SparkSession

WORD = re.compile(r"[^\W\d_]+")


def main(path: str, how_many: int) -> None:
    spark = SparkSession.builder.appName("word count").getOrCreate()
    lines = spark.read.text(path).rdd.map(lambda row: row.value)
    counts = (
        lines.flatMap(lambda line: WORD.findall(line.lower()))
        .map(lambda word: (word, 1))
        .reduceByKey(add)
    )
    for word, count in counts.takeOrdered(how_many, key=lambda pair: (-pair[1], pair[0])):
        print(f"{count:6d} {word}")
    spark.stop()


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20)
