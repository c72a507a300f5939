"""Balances and suspicious transactions, with dataclasses and decimals as rows."""

from dataclasses import dataclass
from decimal import Decimal

from pyspark import SparkContext


@dataclass(frozen=True)
class Transaction:
    account: str
    amount: Decimal
    kind: str

    @property
    def signed(self):
        return self.amount if self.kind == "in" else -self.amount


sc = SparkContext("local[2]", "bank")
data = [
    Transaction("acc%d" % (i % 3), Decimal(i * 17 % 50) / 4, "in" if i % 4 else "out")
    for i in range(24)
]
rdd = sc.parallelize(data, 4)
balances = rdd.map(lambda t: (t.account, t.signed)).reduceByKey(lambda a, b: a + b)
for account, balance in sorted(balances.collect()):
    print(account, balance)
large = rdd.filter(lambda t: t.amount > 9)
print(large.count(), large.first())
print(rdd.map(lambda t: t.kind).countByValue()["out"])
print(rdd.distinct().count(), rdd.max(key=lambda t: (t.amount, t.account)))
