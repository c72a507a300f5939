"""Counts words with countByValue, which gives a dictionary."""

from pyspark import SparkConf, SparkContext

conf = SparkConf().setMaster("local[2]").setAppName("WordCount")
sc = SparkContext(conf=conf)
words = sc.parallelize(["a b a", "c b a", "", "a d"]).flatMap(lambda x: x.split())
wordCounts = words.countByValue()
print(type(wordCounts).__name__, len(wordCounts))
for word, count in sorted(wordCounts.items(), key=lambda kv: (-kv[1], kv[0])):
    print(word + " " + str(count))
print(wordCounts["missing"])
