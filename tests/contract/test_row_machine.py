"""Jobs give the same whether the row machine runs them, does not, or gives rows back."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable
from operator import add
from typing import Any

import pytest

from pyrite import SparkConf, SparkContext
from pyrite.errors import TaskFailed
from pyrite.machine.chain import IS_BUILT

# Every job in every mode, on a machine that may have other things to do.
pytestmark = pytest.mark.timeout(900)

MODES = ("false", "true", "eager", "doubting")
COUNT = 60_000


def context(mode: str, **settings: str) -> SparkContext:
    conf = SparkConf(False).setMaster("local[2]").set("pyrite.machine", mode)
    for name, value in settings.items():
        conf.set(name.replace("_", "."), value)
    return SparkContext(conf=conf)


def numbers(sc: Any) -> Any:
    return sc.range(COUNT, numSlices=3).map(lambda n: n * 3 + 1).filter(lambda n: n & 1 == 0)


def points(sc: Any) -> Any:
    made = sc.range(COUNT, numSlices=3).map(lambda n: (n % 97, (n * 0.37, n, n % 3 == 0)))
    return made.cache()


def merged(left: Any, right: Any) -> Any:
    return left[0] + right[0], max(left[1], right[1]), left[2] or right[2]


def ranked(sc: Any) -> list[Any]:
    links = sc.parallelize([(n, [n * 7 % 500, n * 11 % 500]) for n in range(500)], 4).cache()
    ranks = links.mapValues(lambda targets: 1.0)
    for _ in range(3):
        received = links.join(ranks).flatMap(
            lambda node: [(target, node[1][1] / len(node[1][0])) for target in node[1][0]]
        )
        ranks = received.reduceByKey(add, 4).mapValues(lambda total: 0.15 + 0.85 * total)
    return sorted(ranks.collect())


def spread(values: Any) -> int:
    numbers = list(values)
    return max(numbers) - min(numbers)


def keyed(sc: Any) -> Any:
    return sc.range(COUNT, numSlices=3).map(lambda n: (n * 7919 % 700, n))


def orders(sc: Any) -> Any:
    """Pairs by int; some keys twice, some that the others don't have."""
    return sc.range(COUNT // 4, numSlices=3).map(lambda n: (n * 3 // 4 if n % 7 else n + COUNT, n))


def prices(sc: Any) -> Any:
    return sc.range(COUNT // 4, numSlices=2).map(lambda n: (n * 5 // 4, n * 0.5))


def named(pairs: Any, count: int) -> Any:
    return pairs.map(lambda pair: ("k" + str(pair[0]), pair[1])).filter(lambda p: len(p[0]) < count)


def odd(pairs: Any) -> Any:
    """The same with some keys that are equal to ints, but none."""
    return pairs.map(
        lambda p: (True if p[0] == 1 else float(p[0]) if p[0] % 100 == 2 else p[0], p[1])
    )


def listed(row: Any) -> Any:
    return row[0], [list(side) for side in row[1]]


def sides(sc: Any) -> list[tuple[Any, Any]]:
    return [
        (orders(sc), prices(sc)),
        (named(orders(sc), 5), named(prices(sc), 6)),
        (odd(orders(sc)), prices(sc)),
        (prices(sc), odd(orders(sc))),
        (named(orders(sc), 5), prices(sc)),
        (orders(sc).partitionBy(3).cache(), prices(sc).reduceByKey(add, 3).mapValues(lambda x: -x)),
        (orders(sc).mapValues(lambda n: [n, str(n)]), prices(sc)),
    ]


def each_side(sc: Any, job: Callable[[Any, Any], Any]) -> list[Any]:
    return [job(left, right) for left, right in sides(sc)]


JOINS: dict[str, Callable[[Any, Any], Any]] = {
    "join": lambda x, y: x.join(y, 3).collect(),
    "leftOuterJoin": lambda x, y: x.leftOuterJoin(y, 3).collect(),
    "rightOuterJoin": lambda x, y: x.rightOuterJoin(y, 3).collect(),
    "fullOuterJoin": lambda x, y: x.fullOuterJoin(y, 3).collect(),
    "subtractByKey": lambda x, y: x.subtractByKey(y, 3).collect(),
    "cogroup": lambda x, y: x.cogroup(y, 3).map(listed).collect(),
    "groupWith": lambda x, y: x.groupWith(y, x).map(listed).collect(),
    "partitionBy": lambda x, y: x.partitionBy(3).glom().collect(),
    "a join summed": lambda x, y: x.join(y, 3).map(lambda row: row[1][1] * 0.5).sum(),
    "a left join summed": lambda x, y: (
        x.leftOuterJoin(y, 3).map(lambda row: 1.5 if row[1][1] is None else row[1][1]).sum()
    ),
    "a right join summed": lambda x, y: (
        x.rightOuterJoin(y, 3).map(lambda row: 1 if row[1][0] is None else 2).sum()
    ),
    "a full join summed": lambda x, y: (
        x.fullOuterJoin(y, 3).map(lambda row: (row[1][1] or 0.25) * 2).sum()
    ),
    "the unmatched counted": lambda x, y: x.subtractByKey(y, 3).filter(lambda row: row[0]).count(),
    "a cogroup summed": lambda x, y: (
        x.cogroup(y, 3).mapValues(lambda s: len(s[0]) * sum(s[1])).values().sum()
    ),
    "joins combined": lambda x, y: (
        x.join(y, 3).map(lambda row: (row[0], row[1][1])).reduceByKey(add, 3).collect()
    ),
    "joins of joins": lambda x, y: (
        x.join(y, 3).mapValues(lambda pair: pair[1]).join(y, 3).flatMapValues(lambda p: p).count()
    ),
}


def lines(sc: Any) -> Any:
    made = sc.range(COUNT, numSlices=3).map(lambda n: f"{n % 911},{n * 0.25} k{n % 97} é{n % 13}")
    return made.cache()


def written(sc: Any) -> Any:
    """The same lines in a file, of which some are not UTF-8."""
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "lines")
    with open(path, "wb") as file:
        for number in range(COUNT):
            file.write(f"{number % 911},{number * 0.25} k{number % 97}".encode())
            file.write(b" \xff\n" if number % 5000 == 4999 else b" end\n")
    return sc.textFile(path, 3)


RECORD_BYTES = 24


def records(sc: Any) -> Any:
    """Records in a file: a number, half of which occur twice, then other bytes."""
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "records")
    with open(path, "wb") as file:
        for number in range(COUNT):
            file.write(b"%08x" % (number * 7919 % (COUNT // 2)) + b"%016d" % number)
    return sc.binaryRecords(path, RECORD_BYTES)


def record_number(record: bytes) -> bytes:
    return record[:8]


JOBS: dict[str, Callable[[Any], Any]] = {
    "records in order": lambda sc: records(sc).sortBy(record_number, True, 4).glom().collect(),
    "records backwards": lambda sc: (
        records(sc).sortBy(lambda record: record[2:8], False, 3).glom().collect()
    ),
    "records whole": lambda sc: records(sc).sortBy(lambda record: record, True, 3).collect(),
    "records made": lambda sc: (
        sc.range(COUNT).map(lambda n: b"%d" % (n * 7919 % COUNT)).sortBy(lambda b: b[:3]).collect()
    ),
    "records from their end": lambda sc: (
        records(sc).sortBy(lambda record: record[-5:], True, 3).collect()
    ),
    "records with others": lambda sc: (
        records(sc)
        .map(lambda row: (row[8:], row) if row[0] == 48 else row)
        .sortBy(lambda row: row[:1] if type(row) is bytes else row[0][:1], True, 3)
        .collect()
    ),
    "sum": lambda sc: numbers(sc).sum(),
    "sum of floats": lambda sc: points(sc).map(lambda row: row[1][0]).sum(),
    "count": lambda sc: numbers(sc).count(),
    "reduce": lambda sc: points(sc).values().reduce(merged),
    "fold": lambda sc: numbers(sc).fold(0, lambda total, n: total ^ n),
    "aggregate": lambda sc: numbers(sc).aggregate(
        (0, 0.0), lambda s, n: (s[0] + 1, s[1] + n), lambda a, b: (a[0] + b[0], a[1] + b[1])
    ),
    "reduceByKey": lambda sc: sorted(points(sc).reduceByKey(merged, 5).collect()),
    "aggregateByKey": lambda sc: sorted(
        points(sc)
        .mapValues(lambda value: value[1])
        .aggregateByKey(
            (0, 0), lambda s, n: (s[0] + n, s[1] + 1), lambda a, b: (a[0] + b[0], a[1] + b[1])
        )
        .collect()
    ),
    "foldByKey": lambda sc: sorted(
        points(sc).mapValues(lambda value: value[1]).foldByKey(0, max).collect()
    ),
    "layout": lambda sc: points(sc).reduceByKey(merged, 5).glom().map(len).collect(),
    "odd keys": lambda sc: sorted(
        sc.range(COUNT)
        .map(lambda n: (True if n == 50_000 else n % 7, 1))
        .reduceByKey(add)
        .collect()
    ),
    "overflow": lambda sc: sc.range(COUNT).map(lambda n: n * 2**50).reduce(add),
    "ranks": ranked,
    "groups": lambda sc: keyed(sc).groupByKey().mapValues(list).collect(),
    "kept groups": lambda sc: [
        (key, type(values).__name__, list(values))
        for key, values in keyed(sc).groupByKey(4).collect()
    ],
    "spread of groups": lambda sc: keyed(sc).groupByKey().mapValues(spread).values().sum(),
    "groups by text": lambda sc: (
        keyed(sc)
        .map(lambda pair: ("k" + str(pair[0]), (pair[1], 0.25 * pair[1])))
        .groupByKey()
        .mapValues(lambda values: sum([one for one, other in values if other > 7.0]))
        .collect()
    ),
    "groups with odd keys": lambda sc: (
        keyed(sc)
        .map(lambda pair: (True if pair[1] == 50_000 else pair[0], pair[1]))
        .groupByKey()
        .mapValues(list)
        .collect()
    ),
    "groups with large values": lambda sc: (
        keyed(sc)
        .mapValues(lambda n: 2**70 if n % 5000 == 0 else n)
        .groupByKey()
        .mapValues(sum)
        .collect()
    ),
    "groups by a user's parts": lambda sc: (
        keyed(sc).groupByKey(4, lambda key: key // 3).mapValues(len).glom().collect()
    ),
    "word count": lambda sc: sorted(
        lines(sc).flatMap(str.split).map(lambda w: (w, 1)).reduceByKey(add, 5).collect()
    ),
    "words of files": lambda sc: (
        written(sc).flatMap(lambda line: line.split()).map(lambda w: (w, 1)).reduceByKey(add)
    ).collect(),
    "layout of words": lambda sc: (
        lines(sc).flatMap(str.split).map(lambda w: (w, 1)).reduceByKey(add, 5).glom().collect()
    ),
    "parsed": lambda sc: (
        written(sc)
        .map(lambda line: line.split(","))
        .map(lambda parts: (parts[0], float(parts[1].split()[0])))
        .reduceByKey(max)
        .collect()
    ),
    "searched": lambda sc: [
        written(sc).filter(lambda line, word=word: word in line).count()
        for word in ("k7", "end", "\ufffd", "")
    ],
    "odd texts": lambda sc: sorted(
        sc.range(COUNT)
        .map(lambda n: ("\ud800" if n == 50_000 else f"k{n % 7}", 1))
        .reduceByKey(add)
        .collect()
    ),
    **{name: lambda sc, job=job: each_side(sc, job) for name, job in JOINS.items()},
    "nested": lambda sc: sorted(
        points(sc)
        .reduceByKey(merged)
        .map(lambda kv: (kv[0] % 5, kv[1][1]))
        .reduceByKey(add)
        .collect()
    ),
}


@pytest.fixture(scope="module")
def answers() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for mode in MODES:
        with context(mode) as sc:
            found[mode] = {name: repr(job(sc)) for name, job in JOBS.items()}
    return found


@pytest.mark.parametrize("mode", MODES[1:])
@pytest.mark.parametrize("job", JOBS)
def test_answers_are_the_same(answers: dict[str, dict[str, str]], job: str, mode: str) -> None:
    assert answers[mode][job] == answers["false"][job]


def test_errors_are_the_user_s() -> None:
    texts = set()
    for mode in MODES:
        with context(mode) as sc:
            rows = sc.parallelize([*range(1, 5000), 0, *range(5000)], 1)
            with pytest.raises(TaskFailed) as raised:
                rows.map(lambda n: 10 // n).sum()
            texts.add(str(raised.value).partition("\nstage")[0])
    assert len(texts) == 1
    assert "in <lambda>\n    rows.map(lambda n: 10 // n).sum()" in next(iter(texts))


@pytest.mark.skipif(not IS_BUILT, reason="the row machine is not built")
def test_a_lineage_tells_where_its_functions_ran() -> None:
    with context("true") as sc:
        pairs = keyed(sc)
        sums = pairs.reduceByKey(add).mapValues(lambda total: sorted([total])[0])
        joined = pairs.filter(lambda pair: pair[1] > 5).join(sums).map(lambda row: row[1][0])
        assert b"[in" not in joined.toDebugString()
        joined.sum()
        lines = joined.toDebugString().decode().splitlines()
        told = {line.split(" RDD")[0].strip(" |+-()0123456789"): line for line in lines}
        assert told["map"].endswith(" [in C]") and told["filter"].endswith(" [in C]")
        assert "[in" not in told["join"]
        few = sc.range(COUNT).map(lambda n: len(repr(n)))
        few.sum()
        assert few.toDebugString().decode().splitlines()[0].endswith(" [in Python: a call of repr]")


def test_an_error_tells_nothing_of_the_machine() -> None:
    def looked_up(n: int) -> tuple[int, int]:
        return n % 7, {"a": 1}["b" if n == COUNT - 1 else "a"]

    with context("true") as sc, pytest.raises(TaskFailed) as raised:
        sc.range(COUNT, numSlices=2).map(looked_up).reduceByKey(add).collect()
    assert "KeyError" in str(raised.value)
    assert "During handling" not in str(raised.value)


@pytest.mark.parametrize("mode", ["true", "eager"])
def test_accumulators_count_every_row(mode: str) -> None:
    with context(mode) as sc:
        seen = sc.accumulator(0)

        def counted(n: int) -> int:
            seen.add(1)
            return n

        assert sc.range(COUNT).map(counted).sum() == sum(range(COUNT))
        assert seen.value == COUNT


@pytest.mark.skipif(not IS_BUILT, reason="the row machine is not built")
def test_a_long_loop_is_cancelled() -> None:
    with context("true", pyrite_cancel_grace="60s") as sc:
        errors: list[BaseException] = []

        def run() -> None:
            sc.setJobGroup("long", "a loop of hours")
            try:
                sc.range(10**13, numSlices=2).map(lambda n: n & 1).sum()
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        while not sc.statusTracker().getActiveJobsIds():
            time.sleep(0.01)
        time.sleep(0.5)
        sc.cancelJobGroup("long")
        thread.join(30)
        assert not thread.is_alive() and len(errors) == 1
        assert sc.range(100).sum() == 4950


@pytest.mark.parametrize("by_text", [False, True])
@pytest.mark.parametrize("mode", ["false", "true"])
def test_a_table_larger_than_memory_spills(mode: str, by_text: bool) -> None:
    keys = 1_500_000
    with context(mode, spark_executor_memory="64m") as sc:
        pairs = sc.range(2 * keys, numSlices=2).map(lambda n: (n * 7919 % keys, n & 3))
        if by_text:
            pairs = pairs.map(lambda pair: ("k" + str(pair[0]), pair[1]))
        sums = pairs.reduceByKey(add, 4)
        assert sums.count() == keys
        assert sums.values().sum() == pairs.values().sum()


@pytest.mark.parametrize("mode", ["false", "true"])
def test_sides_larger_than_memory_spill(mode: str) -> None:
    count = 2_000_000
    with context(mode, spark_executor_memory="64m") as sc:
        left = sc.range(count, numSlices=4).map(lambda n: (n * 7919 % count, n))
        right = sc.range(count, numSlices=4).map(lambda n: (n, n * 0.5))
        joined = left.join(right, 2).map(lambda row: row[1][1] - row[0] * 0.5)
        assert (joined.count(), joined.sum()) == (count, 0.0)
        sizes = left.cogroup(right, 2).map(lambda row: len(row[1][0]) + len(row[1][1]))
        assert sizes.sum() == 2 * count


@pytest.mark.parametrize("mode", ["false", "true"])
def test_groups_larger_than_memory_spill(mode: str) -> None:
    count = 3_000_000
    with context(mode, spark_executor_memory="64m") as sc:
        pairs = sc.range(count, numSlices=4).map(lambda n: (n * 7919 % 5003, n))
        sizes = pairs.groupByKey(2).mapValues(lambda values: (len(values), max(values)))
        assert sizes.map(lambda row: row[1][0]).sum() == count
        assert sizes.map(lambda row: row[1][1]).max() == count - 1
