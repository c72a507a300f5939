"""The clusters that contract tests run on."""

from __future__ import annotations

import os
import sys

from machine_mode import machine_settings
from raycluster import shared_ray

from pyrite import SparkConf, SparkContext

# As many executors, and functions that raise are not called again, whatever runs them.
ADAPTERS = {
    "local": {"spark.master": "local[2]"},
    "sim": {
        "spark.master": "sim[seed=1,nodes=2,executors=1,faults=0]",
        "spark.task.maxFailures": "1",
    },
    "local-cluster": {"spark.master": "local-cluster[2,1,512m]"},
    "ray": {
        "spark.master": "ray",
        "spark.task.maxFailures": "1",
        "spark.executor.memory": "256m",
        "pyrite.pool.memory": "64m",
        # The nodes have their own modules, and not those of the tests.
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        # A busy machine may stand still for as long as a node may be silent.
        "pyrite.node.timeout": "60s",
    },
}


# Not among those on which every test runs: tasks of dead executors are tried again.
RETRYING = {"ray with retries": ADAPTERS["ray"] | {"spark.task.maxFailures": "4"}}


def make_context(adapter: str, settings: dict[str, str]) -> SparkContext:
    chosen = (ADAPTERS | RETRYING)[adapter]
    chosen = machine_settings() | chosen | settings
    conf = SparkConf(False).setAppName("contract").setAll(chosen.items())
    if conf.get("spark.master") == "ray":
        conf.setMaster(f"ray[{shared_ray().address}]")
    return SparkContext(conf=conf)
