"""Searches a log in memory, one question after another: logsearch.py FILE

Each line of FILE has a time, a level, a service and a message.
"""

import sys
from typing import NamedTuple

from pyspark import SparkContext, StorageLevel

SEVERITY = {"DEBUG": 0, "INFO": 1, "WARN": 2, "ERROR": 3}


class Entry(NamedTuple):
    time: str
    level: str
    service: str
    message: str


def main(path: str) -> None:
    sc = SparkContext(appName="log search")
    broken = sc.accumulator(0)
    severity = sc.broadcast(SEVERITY)

    def parse(line):
        parts = line.split(None, 3)
        if len(parts) < 4 or parts[1] not in severity.value:
            broken.add(1)
            return []
        return [Entry(*parts)]

    entries = sc.textFile(path).flatMap(parse).persist(StorageLevel.MEMORY_ONLY)
    serious = entries.filter(lambda entry: severity.value[entry.level] >= 2)

    print(f"{entries.count()} entries, {broken.value} lines not understood")
    print(f"{serious.count()} of them serious")
    for service, count in sorted(serious.map(lambda entry: entry.service).countByValue().items()):
        print(f"  {service}: {count}")
    timeouts = entries.filter(lambda entry: "timeout" in entry.message)
    for entry in timeouts.sortBy(lambda entry: entry.time).take(3):
        print(f"timeout at {entry.time} in {entry.service}: {entry.message}")
    severity.destroy()
    sc.stop()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
