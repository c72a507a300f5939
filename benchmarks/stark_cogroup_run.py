"""One way of Stark's figure 11, in a process of its own: load hours of a log beside a busy job,
then ask ten queries that cogroup them; print JSON.

python -m benchmarks.stark_cogroup_run JSON, where the JSON is that of a `CogroupPlan`. PySpark's
interpreter needs nothing of Pyrite here.
"""

import json
import os
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from random import Random
from typing import Any

from benchmarks.engines import start_context
from benchmarks.r3s_run import make_spark_home

PARTITIONS, FILE_PARTITIONS, QUERIES = 8, 4, 10
MASTER = "local-cluster[4,1,1024]"
# What is looked for, a word at random in each query.
WORDS = ("List", "Main", "Love", "War", "John", "The", "film", "of_the")


@dataclass(frozen=True)
class CogroupPlan:
    """What to run: the way, the logs with an hour each, and a folder for scratch files."""

    way: str
    logs: list[str]
    scratch: str


@dataclass
class CogroupOutcome:
    """The time of each query and what it found; what all of them read from other nodes or computed
    again."""

    seconds: list[float] = field(default_factory=list)
    found: list[int] = field(default_factory=list)
    remote: int = 0
    recomputed: int = 0


def run(plan: CogroupPlan) -> CogroupOutcome:
    engine = "pyspark" if plan.way == "PySpark" else "pyrite"
    if engine == "pyspark":
        make_spark_home(plan.scratch)
        # Its workers listen there too, not at the address of the host's name.
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = {"spark.master": MASTER, "spark.locality.wait": "3s"}
    if engine == "pyrite":
        settings["spark.ui.showConsoleProgress"] = "false"
    else:
        settings["spark.executor.memory"] = "1024m"
    sc = start_context(engine, settings)
    try:
        if plan.way == "homes by dice":
            from benchmarks.stark_dice import by_dice

            sc._engine.scheduler.locality.policies = by_dice(3.0)
        # All executors have come.
        sc.parallelize(range(8), 8).map(lambda _: time.sleep(0.1)).count()
        datasets = load(sc, plan)
        before = sc.memory().hits if engine == "pyrite" else None
        outcome = CogroupOutcome()
        dice = Random(11)
        for _ in range(QUERIES):
            began_s = time.perf_counter()
            outcome.found.append(query(datasets, dice.choice(WORDS)))
            outcome.seconds.append(time.perf_counter() - began_s)
        if before is not None:
            hits = sc.memory().hits
            outcome.remote = hits.remote - before.remote
            outcome.recomputed = hits.recomputed - before.recomputed
        return outcome
    finally:
        sc.stop()


def load(sc: Any, plan: CogroupPlan) -> list[Any]:
    """Keeps the requests of each hour by page, while two executors are busy."""
    go_on = threading.Event()

    def busy() -> None:
        while not go_on.is_set():
            sc.parallelize(range(2), 2).map(lambda _: time.sleep(0.2)).count()

    thread = threading.Thread(target=busy)
    thread.start()
    loaded = []
    try:
        for path in plan.logs:
            pairs = sc.textFile(path, FILE_PARTITIONS).map(lambda line: (line.split()[2], line))
            if plan.way == "namespace":
                from pyrite import HashPartitioner

                placed = pairs.localityPartitionBy(HashPartitioner(PARTITIONS), "requests")
            else:
                placed = pairs.partitionBy(PARTITIONS)
            placed.cache().count()
            loaded.append(placed)
    finally:
        go_on.set()
        thread.join()
    return loaded


def query(datasets: list[Any], word: str) -> int:
    """How many requests of all hours are for pages with a word."""
    if len(datasets) == 1:
        together = datasets[0].groupByKey(PARTITIONS).mapValues(lambda lines: [lines])
    else:
        together = datasets[0].groupWith(*datasets[1:])
    matching = together.map(
        lambda pair: sum(word in line for lines in pair[1] for line in lines)
    )  # fmt: skip
    return int(matching.sum())


def main() -> None:
    """Run the plan given, print what came of it."""
    print(json.dumps(asdict(run(CogroupPlan(**json.loads(sys.argv[1]))))))


if __name__ == "__main__":
    main()
