"""The clusters that contract tests run on."""

from __future__ import annotations

from pyrite import SparkConf, SparkContext

# As many executors, and functions that raise are not called again, whatever runs them.
ADAPTERS = {
    "local": {"spark.master": "local[2]"},
    "sim": {
        "spark.master": "sim[seed=1,nodes=2,executors=1,faults=0]",
        "spark.task.maxFailures": "1",
    },
}


def make_context(adapter: str, settings: dict[str, str]) -> SparkContext:
    conf = SparkConf(False).setAppName("contract")
    return SparkContext(conf=conf.setAll((ADAPTERS[adapter] | settings).items()))
