"""Nodes have few files, however many small parts were fetched ahead between them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from marks import wait_until
from test_deaths import wait_for_executors
from test_local_cluster import agree, nodes_of

from pyrite import SparkContext
from pyrite.schedule.events import PartsFetched

Start = Callable[..., SparkContext]

SIDE = 60
ROWS = 20_000
# On two nodes: in memory and on disk a lock, a segment of an executor, its stacks, and one file of
# all that was fetched ahead; some of them twice, while executors start or are replaced.
MOST_FILES = 14


def test_prefetched_segments_share_files(start: Start) -> None:
    # Orders of some kilobytes each.
    sc = start(
        "local-cluster[2,1,512m]", pyrite__shuffle__small="0", pyrite__shuffle__inFlight="256k"
    )
    wait_for_executors(sc)
    fetched: list[int] = []
    files: list[int] = []

    def listen(now_s: float, event: Any, commands: list[Any]) -> None:
        if isinstance(event, PartsFetched):
            fetched.append(event.fetch)
        files.append(len(files_of(sc)))

    sc._engine.story.listeners.append(listen)
    pairs = sc.range(ROWS, numSlices=SIDE).map(lambda number: (number, "x" * 100))
    sizes = pairs.partitionBy(SIDE).mapPartitions(lambda rows: [sum(1 for _ in rows)]).collect()
    assert sum(sizes) == ROWS
    assert len(fetched) > 2 * MOST_FILES
    assert max(files) <= MOST_FILES
    wait_until(lambda: not [each for each in files_of(sc) if "ahead" in each], "their removal")
    agree(sc)


def files_of(sc: SparkContext) -> list[str]:
    folders = [path for node in nodes_of(sc).values() for path in node.folders[:2]]
    return [name for folder in folders for _, _, names in os.walk(folder) for name in names]
