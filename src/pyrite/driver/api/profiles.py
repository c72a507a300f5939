"""The part of a context that has its tasks profiled."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

from pyrite.driver.engine.engine import Engine
from pyrite.errors import PySparkRuntimeError
from pyrite.execute.closures import dumps
from pyrite.profiler import Profiler, ProfilerCollector
from pyrite.rdd.base import Lineage
from pyrite.settings import Settings

if TYPE_CHECKING:
    from pyrite.context import SparkContext


class Profiles:
    """Makes a profiler for each stage, where spark.python.profile says so."""

    _engine: Engine
    _settings: Settings
    _profiler_collector: ProfilerCollector | None = None

    @property
    def profiler_collector(self) -> ProfilerCollector | None:
        """The profilers of all stages so far, or None where nothing is profiled."""
        return self._profiler_collector

    def _profile_with(self, kind: type[Profiler]) -> None:
        if self._settings.bool("spark.python.profile"):
            folder = self._settings.str("spark.python.profile.dump")
            self._profiler_collector = ProfilerCollector(kind, folder or None)
            self._engine.profile = self._new_profiler

    def _new_profiler(self, rdd: Lineage[Any]) -> bytes:
        collector = self._collector()
        profiler = collector.new_profiler(cast("SparkContext", self))
        pickled = dumps(profiler, f"the profiler {type(profiler).__name__}")
        collector.add_profiler(rdd._id, profiler)
        return pickled

    def show_profiles(self) -> None:
        """Prints the profiles that have not been shown yet."""
        self._collector().show_profiles()

    def dump_profiles(self, path: str | os.PathLike[str]) -> None:
        """Writes the profiles into a folder, as files for pstats, and forgets them."""
        self._collector().dump_profiles(os.fspath(path))

    def _collector(self) -> ProfilerCollector:
        if self.profiler_collector is None:
            message = "nothing is profiled: set spark.python.profile=true for the context"
            raise PySparkRuntimeError(message, "INCORRECT_CONF_FOR_PROFILE", {})
        return self.profiler_collector
