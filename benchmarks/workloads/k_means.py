"""k-means: five rounds over cached points in the plane."""

from collections.abc import Callable
from typing import Any

from benchmarks.data import DataFolder
from benchmarks.pair import Pair, lines_of_half
from benchmarks.stopwatch import Stopwatch

ROWS = ("k-means",)
POINTS = {"small": 10_000, "standard": 300_000}
CENTRES = 8
ROUNDS = 5
Point = tuple[float, float]
Total = tuple[float, float, int]


def inputs(data: DataFolder, scale: str) -> str:
    return data.places(POINTS[scale])


def point_of(line: str) -> Point:
    x, y = line.split(" ")
    return float(x), float(y)


def assigned_to(centres: list[Point]) -> Callable[[Point], tuple[int, Total]]:
    numbered = list(enumerate(centres))

    def assigned(point: Point) -> tuple[int, Total]:
        x, y = point
        nearest, least = 0, float("inf")
        for number, (centre_x, centre_y) in numbered:
            distance = (x - centre_x) ** 2 + (y - centre_y) ** 2
            if distance < least:
                nearest, least = number, distance
        return nearest, (x, y, 1)

    return assigned


def added(left: Total, right: Total) -> Total:
    return left[0] + right[0], left[1] + right[1], left[2] + right[2]


def moved(centres: list[Point], totals: dict[int, Total]) -> list[Point]:
    centres = list(centres)
    for number, (x, y, count) in totals.items():
        centres[number] = (x / count, y / count)
    return centres


def rdd(sc: Any, path: str, watch: Stopwatch) -> Any:
    points = sc.textFile(path).map(point_of).cache()
    points.count()
    centres = points.take(CENTRES)
    with watch.timed(ROWS[0]):
        for _ in range(ROUNDS):
            totals = points.map(assigned_to(centres)).reduceByKey(added).collectAsMap()
            centres = moved(centres, totals)
    return [list(centre) for centre in centres]


def hand(path: str, watch: Stopwatch) -> Any:
    with Pair(_assign_half, path) as pair:
        centres = pair.ask()[0]
        with watch.timed(ROWS[0]):
            for _ in range(ROUNDS):
                totals, others = pair.ask(centres)
                for number, total in others.items():
                    totals[number] = added(totals[number], total) if number in totals else total
                centres = moved(centres, totals)
    return [list(centre) for centre in centres]


def _assign_half(peer: Any, path: str) -> Any:
    points = list(map(point_of, lines_of_half(path, peer.index)))
    centres = yield points[:CENTRES]
    while True:
        totals: dict[int, Total] = {}
        for number, total in map(assigned_to(centres), points):
            totals[number] = added(totals[number], total) if number in totals else total
        centres = yield totals
