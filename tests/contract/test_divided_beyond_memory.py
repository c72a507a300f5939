"""A heavy reducer whose pieces are together larger than the memory of who merges them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from large_rows import EXECUTOR_BYTES, MIB, POOL_BYTES, load, tally
from test_deaths import wait_for_executors

from pyrite import SparkContext
from pyrite.schedule import events as ev
from pyrite.schedule.commands import ReducerDivided

Start = Callable[..., SparkContext]

ROWS = 60_000
ROW_BYTES = 1 << 10
HOT = 7


class Story:
    """Which reducers were divided, and which tasks came to nothing."""

    def __init__(self, sc: SparkContext) -> None:
        self.divided: list[ReducerDivided] = []
        self.failures: list[Any] = []
        sc._engine.story.listeners.append(self.listen)

    def listen(self, now_s: float, event: Any, commands: list[Any]) -> None:
        self.divided += [each for each in commands if isinstance(each, ReducerDivided)]
        if isinstance(event, (ev.TaskRaised, ev.FetchFailed, ev.ExecutorLost)):
            self.failures.append(event)


def test_it_is_merged_from_pieces_that_no_executor_could_hold(start: Start) -> None:
    sc = start(
        "local-cluster[3,1,32m]",
        spark__executor__memory=f"{EXECUTOR_BYTES // MIB}m",
        pyrite__pool__memory=f"{POOL_BYTES // MIB}m",
        pyrite__shuffle__divide="4m",
        # What is fetched ahead would only take memory: there is none.
        pyrite__shuffle__prefetch="false",
    )
    story = Story(sc)
    # A reducer is divided among the executors that are there.
    wait_for_executors(sc)

    def key_of(number: int) -> int:
        return HOT if number % 10 else number

    def look(row: Any) -> tuple[int, bool]:
        """A number that falls from row to row, by key and then as the maps have made them."""
        key, value = row
        number = int.from_bytes(value[:8], "big")
        is_right = key == key_of(number) and value == load(number, ROW_BYTES)
        return key * ROWS - number, is_right

    rows = sc.range(ROWS, numSlices=30).map(
        lambda number: (key_of(number), load(number, ROW_BYTES))
    )
    ordered = rows.sortByKey(ascending=False, numPartitions=3)
    found = ordered.mapPartitions(lambda part: tally(part, look, [], True)).collect()
    assert sum(part.rows for part in found) == ROWS
    assert sum(part.numbers for part in found) == sum(key_of(n) * ROWS - n for n in range(ROWS))
    assert not any(part.wrong for part in found)
    # It was merged indeed: pieces that can't be had are no failure of the job.
    assert not story.failures
    [heavy] = story.divided
    assert heavy.bytes > EXECUTOR_BYTES * 5 // 4 and heavy.pieces == 3
