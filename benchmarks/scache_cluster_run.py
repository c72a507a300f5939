"""One shuffle between three nodes, in a process of its own; prints JSON.

python -m benchmarks.scache_cluster_run JSON, where the JSON is that of a `Plan`.
"""

import json
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from operator import le
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

from pyrite import SparkConf, SparkContext
from pyrite.story.read import StoryReader
from pyrite.story.records import JobBegan, JobEnded, Record, TaskEnded, Told

NODES = 3
MAPS = 24
REDUCERS = 12
KEY_BYTES = 10
VALUE_BYTES = 90
GROUPS = 5_000
MASTER = f"local-cluster[{NODES},1,1g]"
Pair = tuple[Any, bytes]


@dataclass(frozen=True)
class Plan:
    """What to run: the operator, the records, and the settings that make the way."""

    operator: str
    records: int
    settings: dict[str, str]


@dataclass(frozen=True)
class Outcome:
    """Seconds of the whole action and of its stages, bytes, and a stand-in for the rows."""

    total_s: float
    maps_s: float
    reduces_s: float
    fetched_bytes: int
    # By the last plan; those that are not placed are not counted either.
    network_bytes: float
    answer: list[int]


def sorted_pairs(sc: Any, records: int) -> Any:
    pairs = sc.parallelize(range(MAPS), MAPS).flatMap(lambda index: even_pairs(index, records))
    return pairs.sortByKey(numPartitions=REDUCERS).mapPartitions(in_order)


def grouped_pairs(sc: Any, records: int) -> Any:
    pairs = sc.parallelize(range(MAPS), MAPS).flatMap(lambda index: skewed_pairs(index, records))
    return pairs.groupByKey(REDUCERS).mapPartitions(groups_told)


OPERATORS = {"sortByKey": sorted_pairs, "groupByKey": grouped_pairs}


def values_of(index: int, count: int) -> list[bytes]:
    data = Random(index).randbytes(VALUE_BYTES + count)
    return [data[at : at + VALUE_BYTES] for at in range(count)]


def even_pairs(index: int, records: int) -> Iterator[Pair]:
    """One map's rows, the same whenever it is computed; keys of bytes, evenly spread."""
    count = records // MAPS
    data = Random(-1 - index).randbytes(KEY_BYTES * count)
    keys = (data[at : at + KEY_BYTES] for at in range(0, len(data), KEY_BYTES))
    return zip(keys, values_of(index, count), strict=True)


def skewed_pairs(index: int, records: int) -> Iterator[Pair]:
    """The same with keys of which the small ones are frequent, so that reducers differ."""
    count = records // MAPS
    random = Random(-1 - index).random
    keys = (int(GROUPS * random() ** 2) for _ in range(count))
    return zip(keys, values_of(index, count), strict=True)


def in_order(rows: Iterable[Pair]) -> Iterator[tuple[int, bool, int]]:
    """How many, whether they are sorted, and a sum over their values."""
    keys, values = zip(*rows, strict=True)
    yield len(keys), all(map(le, keys, keys[1:])), sum(map(crc32, values))


def groups_told(rows: Iterable[tuple[int, Iterable[bytes]]]) -> Iterator[tuple[int, int, int]]:
    """How many groups and values, and a sum that depends on the order within groups."""
    groups = count = total = 0
    for _, values in rows:
        told = b"".join(values)
        groups += 1
        count += len(told) // VALUE_BYTES
        total += crc32(told)
    yield groups, count, total


def run(plan: Plan) -> Outcome:
    """The action, its stages as the story tells them, and what was fetched ahead."""
    with tempfile.TemporaryDirectory() as folder:
        conf = SparkConf().setMaster(MASTER).setAppName("scache")
        conf.set("spark.ui.showConsoleProgress", "false")
        conf.set("spark.eventLog.enabled", "true").set("spark.eventLog.dir", folder)
        for name, value in plan.settings.items():
            conf.set(name, value)
        sc = SparkContext(conf=conf)
        try:
            # All executors have come, and have met each other.
            sc.parallelize(range(900), 9).map(lambda n: (n, n)).groupByKey(9).count()
            before_bytes = sc.memory().fetched_bytes
            began_s = time.perf_counter()
            parts = OPERATORS[plan.operator](sc, plan.records).collect()
            total_s = time.perf_counter() - began_s
            fetched_bytes = sc.memory().fetched_bytes - before_bytes
        finally:
            sc.stop()
        [path] = Path(folder).iterdir()
        with StoryReader(path) as reader:
            maps_s, reduces_s, network_bytes = last_job(reader.records())
    # Sums, since where a sort cuts its ranges is left to the dice.
    answer = [sum(each) for each in zip(*parts, strict=True)]
    return Outcome(total_s, maps_s, reduces_s, fetched_bytes, network_bytes, answer)


def last_job(records: Iterable[Record]) -> tuple[float, float, float]:
    """Of the story's last job: seconds until its last map ended, and from then; network bytes."""
    began_s = mapped_s = ended_s = network_bytes = 0.0
    for record in records:
        match record:
            case JobBegan():
                began_s, network_bytes = record.at_s, 0.0
            case TaskEnded() if record.shuffle_written_bytes:
                mapped_s = record.at_s
            case JobEnded():
                ended_s = record.at_s
            case Told(kind="ReducersPlaced"):
                network_bytes = record.fields["network_bytes"]
    return mapped_s - began_s, ended_s - mapped_s, network_bytes


def main() -> None:
    """Run the plan given, print what came of it."""
    print(json.dumps(asdict(run(Plan(**json.loads(sys.argv[1]))))))


if __name__ == "__main__":
    main()
