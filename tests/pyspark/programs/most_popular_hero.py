"""The most connected hero of a graph of heroes."""

from pyspark import SparkConf, SparkContext

NAMES = [
    '1 "SPIDER-LIKE"',
    '2 "IRONMONGER"',
    '3 "CAPTAIN NOBODY"',
    '4 "BLACK DWARF"',
    '5 "OLD MAN/SMITH"',
]
GRAPH = ["1 2 3", "2 3", "3 1 2 4 5", "4 3", "5 3 1", "1 5", "3 2 2"]

conf = SparkConf().setMaster("local[2]").setAppName("PopularHero")
sc = SparkContext(conf=conf)


def countCoOccurences(line):
    elements = line.split()
    return (int(elements[0]), len(elements) - 1)


def parseNames(line):
    fields = line.split('"')
    return (int(fields[0]), fields[1].encode("utf8"))


namesRdd = sc.parallelize(NAMES).map(parseNames)
pairings = sc.parallelize(GRAPH).map(countCoOccurences)
totalFriendsByCharacter = pairings.reduceByKey(lambda x, y: x + y)
flipped = totalFriendsByCharacter.map(lambda xy: (xy[1], xy[0]))
mostPopular = flipped.max()
mostPopularName = namesRdd.lookup(mostPopular[1])[0]
print(
    str(mostPopularName)
    + " is the most popular superhero, with "
    + str(mostPopular[0])
    + " co-appearances."
)
