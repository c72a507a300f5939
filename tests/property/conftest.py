"""Contexts for random programs."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from machine_mode import machine_settings
from trials import Start

from pyrite import SparkConf, SparkContext

COMMON = {
    "spark.locality.wait": "0s",
    "spark.task.maxFailures": "20",
    "spark.stage.maxConsecutiveAttempts": "20",
    "pyrite.cancel.grace": "200ms",
}


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Gives the context that runs with these settings, or starts it in place of another."""
    running: dict[str, str] | None = None

    def get(changed: dict[str, str]) -> SparkContext:
        nonlocal running
        active = SparkContext._active_spark_context
        if active is not None and running == changed and not active._engine.broken:
            return active
        if active is not None:
            active.stop()
        conf = SparkConf(False).setMaster("local[2]").setAppName("lineages")
        for name, value in {**machine_settings(), **COMMON, **changed}.items():
            conf.set(name, value)
        context = SparkContext(conf=conf)
        context.setCheckpointDir(str(tmp_path_factory.mktemp("checkpoints")))
        running = changed
        return context

    yield get
    if SparkContext._active_spark_context is not None:
        SparkContext._active_spark_context.stop()
