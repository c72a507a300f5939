"""A word count that cleans its words and sorts by the count."""

import re

from pyspark import SparkConf, SparkContext

LINES = [
    "Self-Employment: Building an Internet Business of One",
    "Achieving Financial and Personal Freedom through a Lifestyle Technology Business",
    "You don't need a big idea, you need a business; a business of your own.",
    "It's your business -- and you're the boss!",
]


def normalizeWords(text):
    return re.compile(r"\W+", re.UNICODE).split(text.lower())


conf = SparkConf().setMaster("local").setAppName("WordCount")
sc = SparkContext(conf=conf)

words = sc.parallelize(LINES).flatMap(normalizeWords)
wordCounts = words.map(lambda x: (x, 1)).reduceByKey(lambda x, y: x + y)
wordCountsSorted = wordCounts.map(lambda x: (x[1], x[0])).sortByKey()
for count, word in wordCountsSorted.collect():
    cleanWord = word.encode("ascii", "ignore")
    if cleanWord:
        print(cleanWord.decode() + ":\t\t" + str(count))
