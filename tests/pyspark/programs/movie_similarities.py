"""Cosine similarities of movies that the same people have rated."""

from math import sqrt
from random import Random

from pyspark import SparkConf, SparkContext

conf = SparkConf().setMaster("local[2]").setAppName("MovieSimilarities")
sc = SparkContext(conf=conf)


def makePairs(userRatings):
    ratings = userRatings[1]
    (movie1, rating1) = ratings[0]
    (movie2, rating2) = ratings[1]
    return ((movie1, movie2), (rating1, rating2))


def filterDuplicates(userRatings):
    ratings = userRatings[1]
    return ratings[0][0] < ratings[1][0]


def computeCosineSimilarity(ratingPairs):
    numPairs = 0
    sum_xx = sum_yy = sum_xy = 0
    for ratingX, ratingY in ratingPairs:
        sum_xx += ratingX * ratingX
        sum_yy += ratingY * ratingY
        sum_xy += ratingX * ratingY
        numPairs += 1
    denominator = sqrt(sum_xx) * sqrt(sum_yy)
    score = sum_xy / float(denominator) if denominator else 0
    return (score, numPairs)


rng = Random(1)
data = [(u, m, rng.randint(1, 5)) for u in range(40) for m in rng.sample(range(12), 5)]
ratings = sc.parallelize(data).map(lambda t: (t[0], (t[1], float(t[2]))))
joinedRatings = ratings.join(ratings)
uniqueJoinedRatings = joinedRatings.filter(filterDuplicates)
moviePairs = uniqueJoinedRatings.map(makePairs)
moviePairRatings = moviePairs.groupByKey()
moviePairSimilarities = moviePairRatings.mapValues(computeCosineSimilarity).cache()
good = moviePairSimilarities.filter(
    lambda pairSim: 3 in pairSim[0] and pairSim[1][0] > 0.85 and pairSim[1][1] > 4
)
for sim, pair in good.map(lambda ps: (ps[1], ps[0])).sortByKey(ascending=False).take(10):
    other = pair[0] if pair[0] != 3 else pair[1]
    print("%d\tscore: %.10f\tstrength: %d" % (other, sim[0], sim[1]))
