"""Log search: load a log, keep its lines in memory, ask for one word after another."""

from collections.abc import Callable
from typing import Any

from benchmarks.data import DataFolder
from benchmarks.pair import Pair, lines_of_half
from benchmarks.stopwatch import Stopwatch

FIRST = "log search, first query"
LATER = "log search, 5 later queries"
ROWS = (FIRST, LATER)
LINES = {"small": 50_000, "standard": 1_000_000}
FIRST_WORD = "ERROR"
LATER_WORDS = ["mysql", "ERROR kafka", "took 777", "12:34:", "nothing of the kind"]


def inputs(data: DataFolder, scale: str) -> str:
    return data.log(LINES[scale])


def holds(word: str) -> Callable[[str], bool]:
    return lambda line: word in line


def rdd(sc: Any, path: str, watch: Stopwatch) -> Any:
    lines = sc.textFile(path, 4).cache()
    with watch.timed(FIRST):
        found = [lines.filter(holds(FIRST_WORD)).count()]
    with watch.timed(LATER):
        found += [lines.filter(holds(word)).count() for word in LATER_WORDS]
    return found


def hand(path: str, watch: Stopwatch) -> Any:
    with Pair(_search_half, path) as pair:
        with watch.timed(FIRST):
            found = [sum(pair.ask())]
        with watch.timed(LATER):
            found += [sum(pair.ask(word)) for word in LATER_WORDS]
    return found


def _search_half(peer: Any, path: str) -> Any:
    lines = lines_of_half(path, peer.index)
    word = FIRST_WORD
    while True:
        word = yield len(list(filter(holds(word), lines)))
