"""Profiles of tasks, and profilers of the user's own."""

import pstats
from operator import add

from tests.pyspark.api import api
from tests.pyspark.registry import case

ON = {"spark.python.profile": "true"}


def slow(x):
    return x * x


def paired(x):
    return x % 3, x


def take_calls(sc, folder):
    """How often each of the user's functions was called; nothing is left to be shown at the end."""
    stats = [profiler.stats().stats for _, profiler, _ in sc.profiler_collector.profilers]
    sc.dump_profiles(str(folder))
    return [{place[2]: each[place][0] for place in each if place[2] in OURS} for each in stats]


OURS = (slow.__name__, paired.__name__)


class Adding(api.AccumulatorParam):
    def zero(self, value):
        return 0

    def addInPlace(self, left, right):
        return left + right


class Counting(api.Profiler):
    """Counts tasks."""

    def __init__(self, ctx):
        super().__init__(ctx)
        self.tasks = ctx.accumulator(0, Adding())

    def profile(self, func, *args, **kwargs):
        self.tasks.add(1)
        return func(*args, **kwargs)

    def stats(self):
        return self.tasks.value

    def show(self, id):
        print("shown")

    def dump(self, id, path):
        with open(f"{path}/{self.stats()}", "w") as file:
            file.write("counted")


@case(context="fresh", conf=ON)
def functions_are_counted(sc, folder):
    sc.parallelize(range(10), 2).map(slow).collect()
    return take_calls(sc, folder)


@case(context="fresh", conf=ON)
def both_sides_of_a_shuffle_are_profiled(sc, folder):
    sc.parallelize(range(10), 2).map(paired).reduceByKey(add, 2).mapValues(slow).collect()
    return take_calls(sc, folder)


@case(context="fresh", conf=ON)
def profiles_are_shown_once(sc):
    sc.parallelize(range(10), 2).map(slow).collect()
    collector = sc.profiler_collector
    before = [shown for _, _, shown in collector.profilers]
    sc.show_profiles()
    return before, [shown for _, _, shown in collector.profilers]


@case(context="fresh", conf=ON)
def dumped_profiles_are_forgotten(sc, folder):
    rdd = sc.parallelize(range(10), 2).map(slow)
    rdd.collect()
    sc.dump_profiles(str(folder / "profiles"))
    path = folder / "profiles" / f"rdd_{rdd.id()}.pstats"
    names = [name for _, _, name in pstats.Stats(str(path)).stats if name in OURS]
    return names, sc.profiler_collector.profilers


@case(context="none")
def a_profiler_of_the_users_own(folder):
    conf = api.SparkConf().setAll(ON.items())
    sc = api.SparkContext("local[2]", "profiles", conf=conf, profiler_cls=Counting)
    try:
        sc.parallelize(range(10), 4).map(slow).collect()
        stats = [profiler.stats() for _, profiler, _ in sc.profiler_collector.profilers]
        sc.dump_profiles(str(folder))
        return stats, sorted(each.name for each in folder.iterdir())
    finally:
        sc.stop()
