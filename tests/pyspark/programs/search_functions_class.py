"""A class with methods that use its fields in closures."""

import re

from pyspark import SparkContext


class SearchFunctions(object):
    def __init__(self, query):
        self.query = query

    def isMatch(self, s):
        return self.query in s

    def getMatchesMemberReference(self, rdd):
        return rdd.filter(self.isMatch)

    def getMatchesNoReference(self, rdd):
        query = self.query
        return rdd.filter(lambda x: query in x)

    @staticmethod
    def words(line):
        return re.findall(r"\w+", line)


sc = SparkContext("local", "search")
lines = sc.parallelize(["pandas", "i like pandas", "cats too", "pan"])
s = SearchFunctions("pan")
print(s.getMatchesMemberReference(lines).collect())
print(s.getMatchesNoReference(lines).count())
print(lines.flatMap(SearchFunctions.words).distinct().count())
