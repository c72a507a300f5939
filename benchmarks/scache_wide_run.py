"""As many maps as reducers, and few rows between each two; prints JSON.

python -m benchmarks.scache_wide_run SIDE ROWS [SETTING=VALUE...]
"""

import json
import os
import sys
import time
from operator import add
from threading import Event, Thread
from typing import Any

from benchmarks.engines import start_context, warm_up

INTERVAL_S = 0.05
KEYS_PER_REDUCER = 10


class FileCount:
    """The most files that lay in the folders at a time, while it is entered."""

    def __init__(self, folders: list[str]) -> None:
        self.folders = folders
        self.most = 0
        self._ended = Event()
        # A look at a folder of few files takes microseconds, so that a thread will do.
        self._thread = Thread(target=self._watch)

    def __enter__(self) -> "FileCount":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(INTERVAL_S):
            self.look()

    def look(self) -> None:
        found = sum(len(files) for folder in self.folders for _, _, files in os.walk(folder))
        self.most = max(self.most, found)


def run(side: int, rows: int, settings: dict[str, str]) -> dict[str, Any]:
    """The shuffle's time, its files, and its answer: keys, and the sum of their values."""
    sc = start_context("pyrite", settings)
    try:
        warm_up(sc)
        folders = [
            folder
            for node in sc._engine.cluster.nodes.values()
            for folder in (node.folders.memory, node.folders.disk)
        ]
        keys = side * KEYS_PER_REDUCER
        numbers = sc.range(rows, numSlices=side)
        with FileCount(folders) as files:
            began_s = time.perf_counter()
            pairs = numbers.map(lambda number: (number * 7919 % keys, number))
            sums = pairs.reduceByKey(add, side)
            found = sums.map(lambda pair: (1, pair[1])).reduce(
                lambda a, b: (a[0] + b[0], a[1] + b[1])
            )
            seconds = time.perf_counter() - began_s
            # The map outputs still lie there: whoever misses the peak sees them here.
            files.look()
        return {"seconds": seconds, "files": files.most, "answer": list(found)}
    finally:
        sc.stop()


def main() -> None:
    """Read the arguments, run, print."""
    side, rows, *settings = sys.argv[1:]
    print(json.dumps(run(int(side), int(rows), dict(each.split("=") for each in settings))))


if __name__ == "__main__":
    main()
