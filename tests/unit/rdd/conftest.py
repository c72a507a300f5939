"""A context that computes in this process, for tests of operators without the engine."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from plain import PlainContext


@pytest.fixture
def sc(tmp_path: Path) -> Iterator[PlainContext]:
    context = PlainContext(str(tmp_path / "scratch"))
    yield context
    context._env.space.close()
