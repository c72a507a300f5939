"""What tasks and the driver change behind each other's backs."""

import itertools
import os
import threading
from collections import Counter, defaultdict
from functools import partial
from operator import methodcaller

from tests.pyspark.api import api
from tests.pyspark.odd_values import Point, Slots, cyclic
from tests.pyspark.tables import add_programs

LEVELS = {
    name: lambda name=name: getattr(api.StorageLevel, name)
    for name in ("MEMORY_ONLY", "MEMORY_AND_DISK", "DISK_ONLY", "OFF_HEAP")
}


def grown(row):
    row.append(0)
    return len(row)


def lists(sc):
    return sc.parallelize([[1], [2], [3]], 2).map(lambda row: row)


def read_twice(rdd):
    return rdd.collect(), rdd.collect()


def exhausted(rows):
    """What is there to be read, and that it was read."""
    return [list(row) for row in rows]


def changed_by_the_driver(sc, folder, level):
    kept = lists(sc).persist(level)
    for row in kept.collect():
        row.append(9)
    return kept.collect()


def changed_before_the_cache(sc, folder, level):
    kept = lists(sc).map(lambda row: row.append(5) or row).persist(level)
    return read_twice(kept)


def changed_after_the_cache(sc, folder, level):
    kept = lists(sc).persist(level)
    return kept.map(grown).collect(), kept.map(len).collect()


def kept_and_dropped_twice(sc, folder, level):
    rdd = lists(sc)
    answers = []
    for _ in range(2):
        rdd.persist(level)
        answers.append(rdd.count())
        answers.append(str(rdd.getStorageLevel()))
        rdd.unpersist(True)
        answers.append(rdd.collect())
    return answers


def kept_iterators(sc, folder, level):
    kept = lists(sc).map(lambda row: iter(row)).persist(level)
    return [exhausted(kept.collect()), kept.map(list).collect(), kept.map(list).collect()]


def kept_maps(sc, folder, level):
    pairs = sc.parallelize([(1, 2), (1, 3)], 1)
    kept = pairs.groupByKey(1).mapValues(lambda held: map(str, held)).persist(level)
    return [kept.mapValues(list).collect() for _ in range(2)]


def kept_generators(sc, folder, level):
    kept = lists(sc).map(lambda row: (x for x in row)).persist(level)
    return [kept.map(list).collect() for _ in range(2)]


def kept_groups(sc, folder, level):
    kept = sc.parallelize([(1, 2), (1, 3)], 2).groupByKey(1).persist(level)
    return [kept.mapValues(lambda held: (len(held), list(held))).collect() for _ in range(2)]


def kept_sharing(sc, folder, level):
    kept = lists(sc).map(lambda row: [row] * 2).persist(level)
    kept.count()
    return kept.map(lambda row: row[0] is row[1]).collect(), [a is b for a, b in kept.collect()]


def kept_under_a_variable(sc, folder, level):
    scale = 1
    kept = sc.parallelize([1, 2], 2).map(lambda x: x * scale).persist(level)
    kept.count()
    scale = 100
    first = kept.collect()
    kept.unpersist(True)
    return first, kept.collect()


BY_LEVEL = {
    each.__name__: each
    for each in (
        *(changed_by_the_driver, changed_before_the_cache, changed_after_the_cache),
        *(kept_and_dropped_twice, kept_iterators, kept_maps, kept_generators, kept_groups),
        *(kept_sharing, kept_under_a_variable),
    )
}


class Sets(api.AccumulatorParam):
    def zero(self, value):
        return set()

    def addInPlace(self, left, right):
        left |= right
        return left


class Counters(api.AccumulatorParam):
    def zero(self, value):
        return Counter()

    def addInPlace(self, left, right):
        left.update(right)
        return left


class Concatenates(api.AccumulatorParam):
    """Strings, sorted since nobody knows which task ends first."""

    def zero(self, value):
        return ""

    def addInPlace(self, left, right):
        return "".join(sorted(left + right))


class Latest(api.AccumulatorParam):
    """Forgets what it had: its zero is not neutral."""

    def zero(self, value):
        return value

    def addInPlace(self, left, right):
        return max(left, right)


ACCUMULATORS = {
    "int": lambda: (0, 1, None),
    "bool": lambda: (True, 1, None),
    "float": lambda: (0.5, 1, None),
    "float_nan": lambda: (float("nan"), 1, None),
    "complex": lambda: (1j, 1, None),
    "huge": lambda: (2**70, 2**70, None),
    "int_with_floats": lambda: (0, 0.5, None),
    "text_without_a_param": lambda: ("", "a", None),
    "list_without_a_param": lambda: ([], [1], None),
    "text_added_to_int": lambda: (0, "a", None),
    "none_added_to_int": lambda: (0, None, None),
    "sets": lambda: (set(), {1}, Sets()),
    "sets_that_start_full": lambda: ({0}, {1}, Sets()),
    "counters": lambda: (Counter("a"), "ab", Counters()),
    "texts": lambda: ("b", "a", Concatenates()),
    "latest": lambda: (3, 2, Latest()),
    "param_class_not_object": lambda: (set(), {1}, Sets),
    "param_that_is_none_of_them": lambda: (0, 1, "param"),
}


def added(sc, folder, made):
    start, term, param = made
    total = sc.accumulator(start, param)
    sc.parallelize(range(4), 2).foreach(lambda x: total.add(term))
    return total.value


def added_in_place(sc, folder, made):
    start, term, param = made
    total = sc.accumulator(start, param)

    def add_in_place(x):
        nonlocal total
        total += term

    sc.parallelize(range(4), 2).foreach(add_in_place)
    return total.value


def added_by_the_driver(sc, folder, made):
    start, term, param = made
    total = sc.accumulator(start, param)
    total += term
    total.add(term)
    before = str(total)
    total.value = start
    return before, total.value


def read_in_a_task(sc, folder, made):
    start, _, param = made
    total = sc.accumulator(start, param)
    return sc.parallelize([1], 1).map(lambda x: total.value).collect()


def added_by_an_unused_map(sc, folder, made):
    start, term, param = made
    total = sc.accumulator(start, param)
    mapped = sc.parallelize(range(4), 2).map(lambda x: total.add(term))
    mapped.take(1)
    return total.value


BY_ACCUMULATOR = {
    each.__name__: each
    for each in (
        *(added, added_in_place, added_by_the_driver, read_in_a_task, added_by_an_unused_map),
    )
}

COUNTER = itertools.count()


class Captured:
    """What it has is changed by the tasks that capture it."""

    def __init__(self):
        self.seen = []

    def see(self, x):
        self.seen.append(x)
        return len(self.seen)

    def __call__(self, x):
        return self.see(x)

    @staticmethod
    def doubled(x):
        return x * 2

    @classmethod
    def named(cls, x):
        return cls.__name__, x


def counting():
    seen = []

    def count(x):
        seen.append(x)
        return len(seen)

    return count


def local_class():
    class Local:
        def __init__(self, x):
            self.x = x

        def __eq__(self, other):
            return self.x == other.x

        def __hash__(self):
            return hash(self.x)

    return lambda x: Local(x).x


def recursive():
    def factorial(n):
        return 1 if n < 2 else n * factorial(n - 1)

    return factorial


def generated():
    code = compile("def made(x):\n    return x + offset", "<made>", "exec")
    names = {"offset": 10}
    exec(code, names)
    return names["made"]


FUNCTIONS = {
    "counting": counting,
    "bound_method": lambda: Captured().see,
    "callable_object": lambda: Captured(),
    "static_method": lambda: Captured.doubled,
    "class_method": lambda: Captured.named,
    "local_class": local_class,
    "recursive": recursive,
    "generated": generated,
    "class": lambda: str,
    "class_with_slots": lambda: Slots,
    "dict_lookup": lambda: {1: "a", 2: "b", 3: "c"}.__getitem__,
    "partial": lambda: partial(divmod, 7),
    "method_caller": lambda: methodcaller("bit_length"),
    "generator_function": lambda: yields,
    "captured_module": lambda: lambda x: os.path.join("a", str(x)),
    "captured_count": lambda: lambda x: next(COUNTER) >= 0,
    "captured_cycle": lambda: capturing(cyclic(), lambda held, x: held[1][1][0] + x),
    "captured_object": lambda: capturing(Point(1, ["a"]), lambda held, x: (held.x, held.tags, x)),
    "captured_defaultdict": lambda: capturing(defaultdict(list), lambda held, x: len(held[x])),
    "captured_iterator": lambda: capturing(iter([1, 2, 3]), lambda held, x: next(held, None)),
    "captured_lock": lambda: capturing(threading.Lock(), lambda held, x: x),
    "captured_generator": lambda: capturing((n for n in [1]), lambda held, x: x),
    "none": lambda: None,
    "number": lambda: 5,
    "text": lambda: "upper",
}


def capturing(held, use):
    return lambda x: use(held, x)


def yields(x):
    yield x
    yield x


def rows(sc):
    return sc.parallelize([1, 2, 3], 2)


BY_FUNCTION = {
    "map": lambda sc, folder, function: rows(sc).map(function).collect(),
    "flatMap": lambda sc, folder, function: rows(sc).flatMap(function).collect(),
    "twice": lambda sc, folder, function: read_twice(rows(sc).map(function)),
}

add_programs("odd_state", BY_LEVEL, LEVELS)
add_programs("odd_state", BY_ACCUMULATOR, ACCUMULATORS)
add_programs("odd_state", BY_FUNCTION, FUNCTIONS)
