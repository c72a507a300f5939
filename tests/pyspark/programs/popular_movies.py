"""The movies with the most ratings, with names from a broadcast dictionary."""

from pyspark import SparkConf, SparkContext


def loadMovieNames():
    return {i: "Movie %c (19%02d)" % (65 + i, 60 + i) for i in range(10)}


conf = SparkConf().setMaster("local").setAppName("PopularMovies")
sc = SparkContext(conf=conf)
nameDict = sc.broadcast(loadMovieNames())
lines = sc.parallelize(
    ["%d %d %d" % (u, (u * 7 + k * k) % 10, k % 5 + 1) for u in range(30) for k in range(u % 6)]
)
movies = lines.map(lambda x: (int(x.split()[1]), 1))
movieCounts = movies.reduceByKey(lambda x, y: x + y)
flipped = movieCounts.map(lambda xy: (xy[1], xy[0]))
sortedMovies = flipped.sortByKey()
sortedMoviesWithNames = sortedMovies.map(
    lambda countMovie: (nameDict.value[countMovie[1]], countMovie[0])
)
results = sortedMoviesWithNames.collect()
for result in results:
    print(result)
