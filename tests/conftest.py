"""What holds for every test: its examples may take long, and it leaves the logger as it was."""

import logging
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture(autouse=True)
def same_log_level() -> Iterator[None]:
    """`sc.setLogLevel` holds for the whole process, and so for the tests that follow."""
    logger = logging.getLogger("pyrite")
    level = logger.level
    yield
    logger.setLevel(level)
