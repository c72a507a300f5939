"""How each engine is started, so that all of them get two cores and nothing runs cold."""

import importlib
from operator import add
from types import ModuleType
from typing import Any

ENGINES = ("pyrite", "pyspark", "hand")

SETTINGS: dict[str, dict[str, str]] = {
    "pyrite": {},
    "pyspark": {
        "spark.driver.memory": "4g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    },
}


def start_context(engine: str, settings: dict[str, str]) -> Any:
    """A context of the engine on two cores, with these settings over the suite's own."""
    module = importlib.import_module(engine)
    conf = module.SparkConf().setMaster("local[2]").setAppName("bench")
    for name, value in {**SETTINGS[engine], **settings}.items():
        conf.set(name, value)
    return module.SparkContext(conf=conf)


def warm_up(sc: Any) -> None:
    """Run every part of the engine once on little data."""
    for _ in range(3):
        pairs = sc.parallelize(range(2_000), 2).map(lambda number: (number % 100, number))
        pairs.reduceByKey(add).sortByKey().collect()
        pairs.groupByKey().mapValues(sum).count()


def module_of(sc: Any) -> ModuleType:
    """The package a context comes from, for workloads that need more of it than `sc`."""
    return importlib.import_module(type(sc).__module__.partition(".")[0])
