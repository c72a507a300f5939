"""The amount that each customer has spent, sorted."""

from random import Random

from pyspark import SparkConf, SparkContext

conf = SparkConf().setMaster("local[2]").setAppName("SpendByCustomerSorted")
sc = SparkContext(conf=conf)


def extractCustomerPricePairs(line):
    fields = line.split(",")
    return (int(fields[0]), float(fields[2]))


rng = Random(11)
orders = [
    f"{rng.randrange(20)},{rng.randrange(10000)},{rng.randrange(100, 9999) / 100}"
    for _ in range(500)
]
mappedInput = sc.parallelize(orders).map(extractCustomerPricePairs)
totalByCustomer = mappedInput.reduceByKey(lambda x, y: x + y)
flipped = totalByCustomer.map(lambda x: (x[1], x[0]))
totalByCustomerSorted = flipped.sortByKey()
for total, customer in totalByCustomerSorted.collect():
    print(customer, "%.2f" % total)
