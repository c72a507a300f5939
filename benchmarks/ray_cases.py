"""The workloads of the suite ray: for Pyrite, for Ray Data, and as Ray tasks by hand."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from operator import add
from typing import Any

WORDS = [f"word{n}" for n in range(2000)]
PARTS = 4


class Sizes:
    """How much of everything there is."""

    def __init__(self, scale: str) -> None:
        small = scale == "small"
        self.lines = 20_000 if small else 400_000
        self.records = 50_000 if small else 1_000_000
        self.points = 5_000 if small else 100_000
        self.rounds = 5
        self.jobs = 5 if small else 20
        self.tasks = 200 if small else 2000
        self.broadcast_bytes = (10 if small else 100) << 20


def line(n: int) -> str:
    dice = random.Random(n)
    return " ".join(dice.choices(WORDS, k=8))


def record(n: int) -> tuple[int, int]:
    return (n * 2_654_435_761) % 1_000_003, n


def point(n: int) -> tuple[float, ...]:
    dice = random.Random(n)
    label = 1.0 if n % 2 else -1.0
    return (label, *(dice.gauss(label, 1.0) for _ in range(5)))


def gradient(weights: tuple[float, ...], row: tuple[float, ...]) -> tuple[float, ...]:
    label, *values = row
    dot = sum(w * x for w, x in zip(weights, values, strict=True))
    factor = (1 / (1 + math.exp(-label * dot)) - 1) * label
    return tuple(factor * x for x in values)


def plus(a: tuple[float, ...], b: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(x + y for x, y in zip(a, b, strict=True))


def learned(step: Any, rounds: int) -> float:
    """Does the rounds of a regression; `step` gives the gradient of all points."""
    weights = (0.0,) * 5
    for _ in range(rounds):
        weights = tuple(w - 1e-5 * g for w, g in zip(weights, step(weights), strict=True))
    return round(weights[0], 6)


class OnPyrite:
    """The workloads as RDD programs; they run on Ray and on local-cluster alike."""

    def __init__(self, sc: Any, sizes: Sizes) -> None:
        self.sc = sc
        self.sizes = sizes
        self.two_rows = sc.parallelize([1, 2], 2)

    def word_count(self) -> Any:
        words = self.sc.range(self.sizes.lines, numSlices=PARTS).map(line)
        counted = words.flatMap(str.split).map(lambda w: (w, 1)).reduceByKey(add, PARTS)
        return counted.values().sum()

    def sort(self) -> Any:
        rows = self.sc.range(self.sizes.records, numSlices=PARTS).map(record)
        return rows.sortByKey(numPartitions=PARTS).map(lambda row: row[0]).first()

    def group_by_key(self) -> Any:
        rows = self.sc.range(self.sizes.records, numSlices=PARTS).map(record)
        pairs = rows.map(lambda row: (row[0] % 1000, row[1]))
        return pairs.groupByKey(PARTS).mapValues(len).values().max()

    def regression(self) -> Any:
        points = self.sc.range(self.sizes.points, numSlices=PARTS).map(point).cache()
        points.count()
        return learned(
            lambda weights: points.map(lambda row: gradient(weights, row)).reduce(plus),
            self.sizes.rounds,
        )

    def tiny_job(self) -> Any:
        return self.two_rows.sum()

    def many_tasks(self) -> Any:
        return self.sc.range(self.sizes.tasks, numSlices=self.sizes.tasks).sum()

    def broadcast(self) -> Any:
        table = self.sc.broadcast(bytes(self.sizes.broadcast_bytes))
        return self.sc.range(8, numSlices=8).map(lambda _: len(table.value)).sum()


class OnRayData:
    """The same as Ray Data's documentation would write it."""

    def __init__(self, ray: Any, sizes: Sizes) -> None:
        self.ray = ray
        self.sizes = sizes
        self.two_rows = ray.data.from_items([1, 2], override_num_blocks=2).materialize()

    def _range(self, count: int) -> Any:
        return self.ray.data.range(count, override_num_blocks=PARTS)

    def word_count(self) -> Any:
        lines = self._range(self.sizes.lines)
        words = lines.flat_map(lambda row: [{"word": w} for w in line(row["id"]).split()])
        counted = words.groupby("word").count()
        return int(counted.sum("count()"))

    def sort(self) -> Any:
        rows = self._range(self.sizes.records).map(lambda row: {"key": record(row["id"])[0]})
        return int(rows.sort("key").take(1)[0]["key"])

    def group_by_key(self) -> Any:
        rows = self._range(self.sizes.records)
        keyed = rows.map(lambda row: {"key": record(row["id"])[0] % 1000})
        return int(keyed.groupby("key").count().max("count()"))

    def regression(self) -> Any:
        import numpy as np

        def load(batch: Any) -> Any:
            return {"point": np.array([point(int(n)) for n in batch["id"]])}

        points = self._range(self.sizes.points).map_batches(load).materialize()

        def step(weights: tuple[float, ...]) -> tuple[float, ...]:
            def add_up(batch: Any) -> Any:
                rows = [tuple(row) for row in batch["point"].tolist()]
                total = (0.0,) * 5
                for row in rows:
                    total = plus(total, gradient(weights, row))
                return {f"g{n}": [value] for n, value in enumerate(total)}

            sums = points.map_batches(add_up, batch_size=None).sum([f"g{n}" for n in range(5)])
            return tuple(sums[f"sum(g{n})"] for n in range(5))

        return learned(step, self.sizes.rounds)

    def tiny_job(self) -> Any:
        # A count would be answered from what is known of the blocks, without a task.
        return int(self.two_rows.sum("item"))

    def many_tasks(self) -> Any:
        blocks = self.ray.data.range(self.sizes.tasks, override_num_blocks=self.sizes.tasks)
        return int(blocks.map(lambda row: row).sum("id"))

    def broadcast(self) -> Any:
        table = self.ray.put(bytes(self.sizes.broadcast_bytes))
        ray = self.ray
        rows = self.ray.data.range(8, override_num_blocks=8)
        return int(rows.map(lambda row: {"size": len(ray.get(table))}).sum("size"))


class OnRayTasks:
    """The same as tasks of Ray, written by hand."""

    def __init__(self, ray: Any, sizes: Sizes) -> None:
        self.ray = ray
        self.sizes = sizes
        self.same = ray.remote(lambda n: n)

    def _parts(self, count: int) -> list[range]:
        return [range(n * count // PARTS, (n + 1) * count // PARTS) for n in range(PARTS)]

    def _shuffle(self, make: Any, count: int, merge: Any) -> list[Any]:
        """Maps each part to as many lists of pairs, and merges the lists of each reducer."""
        mapped = self.ray.remote(make).options(num_returns=PARTS)
        made = [mapped.remote(part) for part in self._parts(count)]
        reduced = self.ray.remote(merge)
        return self.ray.get([reduced.remote(*parts) for parts in zip(*made, strict=True)])

    def word_count(self) -> Any:
        def make(part: range) -> list[Counter[str]]:
            counts: list[Counter[str]] = [Counter() for _ in range(PARTS)]
            for n in part:
                for word in line(n).split():
                    counts[int(word[4:]) % PARTS][word] += 1
            return counts

        def merge(*parts: Counter[str]) -> int:
            return sum((sum(parts, Counter())).values())

        return sum(self._shuffle(make, self.sizes.lines, merge))

    def sort(self) -> Any:
        def make(part: range) -> list[list[tuple[int, int]]]:
            dealt: list[list[tuple[int, int]]] = [[] for _ in range(PARTS)]
            for n in part:
                row = record(n)
                dealt[row[0] * PARTS // 1_000_003].append(row)
            return dealt

        def merge(*parts: list[tuple[int, int]]) -> int:
            return sorted(row for part in parts for row in part)[0][0]

        return self._shuffle(make, self.sizes.records, merge)[0]

    def group_by_key(self) -> Any:
        def make(part: range) -> list[list[tuple[int, int]]]:
            dealt: list[list[tuple[int, int]]] = [[] for _ in range(PARTS)]
            for n in part:
                key, value = record(n)
                dealt[key % 1000 % PARTS].append((key % 1000, value))
            return dealt

        def merge(*parts: list[tuple[int, int]]) -> int:
            groups: defaultdict[int, list[int]] = defaultdict(list)
            for part in parts:
                for key, value in part:
                    groups[key].append(value)
            return max(map(len, groups.values()))

        return max(self._shuffle(make, self.sizes.records, merge))

    def regression(self) -> Any:
        load = self.ray.remote(lambda part: [point(n) for n in part])
        loaded = [load.remote(part) for part in self._parts(self.sizes.points)]
        self.ray.wait(loaded, num_returns=PARTS)

        def add_up(rows: list[tuple[float, ...]], weights: tuple[float, ...]) -> Any:
            total = (0.0,) * 5
            for row in rows:
                total = plus(total, gradient(weights, row))
            return total

        task = self.ray.remote(add_up)

        def step(weights: tuple[float, ...]) -> tuple[float, ...]:
            total = (0.0,) * 5
            for each in self.ray.get([task.remote(part, weights) for part in loaded]):
                total = plus(total, each)
            return total

        return learned(step, self.sizes.rounds)

    def tiny_job(self) -> Any:
        return sum(self.ray.get([self.same.remote(1), self.same.remote(2)]))

    def many_tasks(self) -> Any:
        return sum(self.ray.get([self.same.remote(n) for n in range(self.sizes.tasks)]))

    def broadcast(self) -> Any:
        table = self.ray.put(bytes(self.sizes.broadcast_bytes))
        size = self.ray.remote(lambda loaded: len(loaded))
        return sum(self.ray.get([size.remote(table) for _ in range(8)]))
