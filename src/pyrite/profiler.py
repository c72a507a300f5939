"""Profiles of tasks: what a stage's functions spent their time on, added up over its partitions."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyrite.accumulators import AccumulatorParam

if TYPE_CHECKING:
    import pstats

    from pyrite.context import SparkContext

__all__ = ["BasicProfiler", "PStatsParam", "Profiler", "ProfilerCollector"]


class Profiler:
    """How tasks are profiled; give a subclass to ``SparkContext(profiler_cls=...)``.

    One is made for each stage. It is pickled for the tasks, so what they find out has to come back
    through an accumulator.
    """

    def __init__(self, ctx: SparkContext) -> None:
        pass

    def profile(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Calls a function, in a task, and gives what it gives."""
        raise NotImplementedError

    def stats(self) -> Any:
        """What was found out so far."""
        raise NotImplementedError

    def show(self, id: int) -> None:
        """Prints what was found out about the RDD with this id."""
        raise NotImplementedError

    def dump(self, id: int, path: str) -> None:
        """Writes what was found out about the RDD with this id into a folder."""
        raise NotImplementedError


class PStatsParam(AccumulatorParam["pstats.Stats | None"]):
    """Adds up statistics of calls."""

    @staticmethod
    def zero(value: pstats.Stats | None) -> None:
        """Nothing."""
        return None

    @staticmethod
    def addInPlace(value1: pstats.Stats | None, value2: pstats.Stats | None) -> pstats.Stats | None:
        """The calls of both."""
        if value1 is None or value2 is None:
            return value2 if value1 is None else value1
        value1.add(value2)
        return value1


class BasicProfiler(Profiler):
    """Counts and times calls with cProfile."""

    def __init__(self, ctx: SparkContext) -> None:
        super().__init__(ctx)
        self._accumulator = ctx.accumulator(None, PStatsParam())

    def profile(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        # Only where tasks are profiled: every program imports this module.
        import cProfile
        import pstats

        profile = cProfile.Profile()
        result = profile.runcall(func, *args, **kwargs)
        stats = pstats.Stats(profile)
        # It is the task's stdout, which can't be pickled; without one, stdout is taken.
        stats.stream = None  # type: ignore[attr-defined]
        self._accumulator.add(stats.strip_dirs())
        return result

    def stats(self) -> pstats.Stats | None:
        """The calls so far; None where no task has ended yet."""
        found: pstats.Stats | None = self._accumulator.value
        return found

    def show(self, id: int) -> None:
        if stats := self.stats():
            print("=" * 60)
            print(f"Profile of RDD<id={id}>")
            print("=" * 60)
            stats.sort_stats("time", "cumulative").print_stats()

    def dump(self, id: int, path: str) -> None:
        if stats := self.stats():
            os.makedirs(path, exist_ok=True)
            stats.dump_stats(os.path.join(path, f"rdd_{id}.pstats"))


class ProfilerCollector:
    """The profilers of a context's stages; shows them, or writes them, when the program ends."""

    def __init__(self, profiler_cls: type[Profiler], dump_path: str | None = None) -> None:
        self.profiler_cls = profiler_cls
        self.profile_dump_path = dump_path
        # The RDD's id, its profiler, and whether it has been shown.
        self.profilers: list[list[Any]] = []

    def new_profiler(self, ctx: SparkContext) -> Profiler:
        """A profiler for a new stage."""
        return self.profiler_cls(ctx)

    def add_profiler(self, id: int, profiler: Profiler) -> None:
        """Takes in the profiler of the stage that computes the RDD with this id."""
        if not self.profilers:
            if self.profile_dump_path:
                atexit.register(self.dump_profiles, self.profile_dump_path)
            else:
                atexit.register(self.show_profiles)
        self.profilers.append([id, profiler, False])

    def show_profiles(self) -> None:
        """Prints the profiles that have not been shown yet."""
        for entry in self.profilers:
            id, profiler, shown = entry
            if not shown:
                profiler.show(id)
                entry[2] = True

    def dump_profiles(self, path: str) -> None:
        """Writes all profiles into a folder, and forgets them."""
        for id, profiler, _ in self.profilers:
            profiler.dump(id, path)
        self.profilers = []
