"""A naive Bayes classifier of messages, its counts made by Spark."""

from collections import defaultdict
from math import log

from pyspark import SparkContext

TRAIN = [
    ("spam", "win cash now"),
    ("spam", "cash prize now now"),
    ("ham", "lunch now or later"),
    ("ham", "see you at lunch"),
    ("spam", "win a prize"),
    ("ham", "prize of the committee"),
]
TEST = ["win lunch", "cash cash", "see the committee"]

sc = SparkContext("local[2]", "bayes")
train = sc.parallelize(TRAIN, 2).cache()
priors = train.countByKey()
total = sum(priors.values())
words = train.flatMapValues(str.split).cache()
counts = words.map(lambda lw: (lw, 1)).reduceByKey(lambda a, b: a + b).collectAsMap()
vocabulary = words.values().distinct().count()
per_label = defaultdict(int)
for (label, _), n in counts.items():
    per_label[label] += n


def classify(text):
    scores = {}
    for label in sorted(priors):
        score = log(priors[label] / total)
        for word in text.split():
            score += log((counts.get((label, word), 0) + 1) / (per_label[label] + vocabulary))
        scores[label] = score
    return max(scores, key=scores.get), {k: round(v, 4) for k, v in scores.items()}


for text, (label, scores) in zip(TEST, sc.parallelize(TEST).map(classify).collect()):
    print(text, "->", label, scores)
sc.stop()
