"""TF-IDF of words in documents."""

from math import log

from pyspark import SparkContext

sc = SparkContext("local[2]", "tf-idf")
docs = [
    (1, "spark is fast and spark is general"),
    (2, "hadoop is batch"),
    (3, "spark runs on hadoop"),
    (4, "streams and batches and queries"),
]
corpus = sc.parallelize(docs)
n = corpus.count()
terms = corpus.flatMap(lambda d: [((d[0], w), 1) for w in d[1].split()]).reduceByKey(
    lambda a, b: a + b
)
tf = terms.map(lambda x: (x[0][1], (x[0][0], x[1])))
df = tf.map(lambda x: (x[0], 1)).reduceByKey(lambda a, b: a + b)
idf = df.mapValues(lambda d: log(n / float(d)))
tfidf = tf.join(idf).map(lambda x: (x[1][0][0], (x[0], x[1][0][1] * x[1][1])))
best = tfidf.groupByKey().mapValues(lambda ws: sorted(ws, key=lambda w: (-w[1], w[0]))[:3])
for doc, ws in best.sortByKey().collect():
    print(doc, ["%s:%.4f" % w for w in ws])
sc.stop()
