"""The rounds of workload iterations with their outputs kept on a ring, as EclipseMR keeps them.

A program that is interrupted goes on after the last round that it had ended.
"""

from typing import Any

from benchmarks.stopwatch import Stopwatch
from benchmarks.workloads import iterations
from benchmarks.workloads.iterations import ROWS, Sources, inputs

__all__ = ["ENGINES", "ROWS", "SETTINGS", "inputs", "rdd"]

ENGINES = ("pyrite",)
SETTINGS = {"pyrite": {"pyrite.ring": "own"}}


class KeptOutputs:
    """Outputs are files of the ring, under their names."""

    def value(self, sc: Any, value: Any, name: str) -> None:
        sc.parallelize([value], 1).tag(name)

    def rows(self, rdd: Any, name: str) -> Any:
        return rdd.tag(name)

    def last(self, rdd: Any, name: str) -> Any:
        return rdd.tag(name)


def rdd(sc: Any, sources: Sources, watch: Stopwatch) -> Any:
    return iterations.iterated(sc, sources, watch, KeptOutputs())
