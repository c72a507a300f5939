"""Tasks that run until a test lets them go, and the nodes that run them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

from marks import Marks

from pyrite import SparkContext


def hosts(sc: SparkContext) -> list[str]:
    """The nodes that run tasks."""
    nodes = sc._engine.cluster.nodes  # type: ignore[attr-defined]
    return [name for name, node in list(nodes.items()) if node.executors]


@contextmanager
def busy(sc: SparkContext, marks: Marks, tasks: int) -> Iterator[None]:
    """So many tasks run, or wait, until the end."""
    results: list[Any] = []

    def hold(x: int) -> int:
        marks.add("held")
        marks.wait("go", 1)
        return x

    def run() -> None:
        results.append(sorted(sc.range(tasks, numSlices=tasks).map(hold).collect()))

    thread = Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        marks.add("go")
        thread.join()
    assert results == [list(range(tasks))]
