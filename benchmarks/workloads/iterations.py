"""k-means, logistic regression and page rank from their input on, round by round.

EclipseMR's figure 10, with the paper's numbers of rounds. The first round reads the input; the last
one of page rank writes the ranks to disk, as the paper's Spark does.
"""

from operator import add
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from benchmarks.data import DataFolder
from benchmarks.stopwatch import Stopwatch
from benchmarks.workloads import k_means, page_rank, regression_by_record

ENGINES = ("pyrite", "pyspark")
ROUNDS = {"k-means": 5, "logistic regression": 10, "page rank": 2}
Sources = tuple[str, tuple[str, int], str]


def row(application: str, number: int) -> str:
    """The name of a round's row, the first one's with 1."""
    return f"{application}, round {number}"


ROWS = tuple(row(each, number + 1) for each in ROUNDS for number in range(ROUNDS[each]))


class Outputs(Protocol):
    """What becomes of the output of a round."""

    def value(self, sc: Any, value: Any, name: str) -> None:
        """A small one, which the driver has."""

    def rows(self, rdd: Any, name: str) -> Any:
        """A large one, which the next round reads from what this returns."""

    def last(self, rdd: Any, name: str) -> Any:
        """The result."""


class CachedOutputs:
    """Outputs stay in memory, and the result goes to a file, as the paper's Spark has it."""

    def value(self, sc: Any, value: Any, name: str) -> None:
        """It is in the driver."""

    def rows(self, rdd: Any, name: str) -> Any:
        rdd.cache().count()
        return rdd

    def last(self, rdd: Any, name: str) -> Any:
        with TemporaryDirectory() as folder:
            rdd.cache().saveAsTextFile(f"{folder}/ranks")
        return rdd


def inputs(data: DataFolder, scale: str) -> Sources:
    return (
        k_means.inputs(data, scale),
        regression_by_record.inputs(data, scale),
        page_rank.inputs(data, scale),
    )


def rdd(sc: Any, sources: Sources, watch: Stopwatch) -> Any:
    return iterated(sc, sources, watch, CachedOutputs())


def iterated(sc: Any, sources: Sources, watch: Stopwatch, outputs: Outputs) -> Any:
    """The answers of the three applications."""
    places, points, graph = sources
    return [
        _k_means(sc, places, watch, outputs),
        _regression(sc, points, watch, outputs),
        _page_rank(sc, graph, watch, outputs),
    ]


def _k_means(sc: Any, path: str, watch: Stopwatch, outputs: Outputs) -> Any:
    points, centres = None, []
    for number in range(1, ROUNDS["k-means"] + 1):
        with watch.timed(row("k-means", number)):
            if points is None:
                points = sc.textFile(path).map(k_means.point_of).cache()
                centres = points.take(k_means.CENTRES)
            assigned = points.map(k_means.assigned_to(centres))
            centres = k_means.moved(centres, assigned.reduceByKey(k_means.added).collectAsMap())
            outputs.value(sc, centres, f"k-means/{number}")
    return [list(centre) for centre in centres]


def _regression(sc: Any, source: tuple[str, int], watch: Stopwatch, outputs: Outputs) -> Any:
    (path, count), points = source, None
    weights = [0.0] * regression_by_record.DIMENSIONS
    for number in range(1, ROUNDS["logistic regression"] + 1):
        with watch.timed(row("logistic regression", number)):
            if points is None:
                points = sc.textFile(path).map(regression_by_record.point_of).cache()
            gradients = points.map(regression_by_record.gradient_at(weights))
            slope = gradients.reduce(regression_by_record.added)
            weights = regression_by_record.stepped(weights, slope, count)
            outputs.value(sc, weights, f"regression/{number}")
    return weights


def _page_rank(sc: Any, path: str, watch: Stopwatch, outputs: Outputs) -> Any:
    links, ranks = None, None
    for number in range(1, ROUNDS["page rank"] + 1):
        with watch.timed(row("page rank", number)):
            if links is None:
                edges = sc.textFile(path).map(page_rank.edge_of)
                links = edges.groupByKey(page_rank.PARTITIONS).mapValues(list).cache()
                ranks = links.mapValues(page_rank.full_rank)
            received = links.join(ranks).flatMap(page_rank.contributions)
            summed = received.reduceByKey(add, page_rank.PARTITIONS)
            keep = outputs.last if number == ROUNDS["page rank"] else outputs.rows
            ranks = keep(summed.mapValues(page_rank.damped), f"ranks/{number}")
    final = ranks.values().collect()
    return [len(final), sum(final), sorted(final)[-10:]]
