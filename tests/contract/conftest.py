"""Contexts with real executor processes: a shared one, and own ones for tests that change it."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from marks import Marks

from pyrite import SparkConf, SparkContext

Start = Callable[..., SparkContext]


class SharedContext:
    """A context that lives until a test wants one of its own."""

    def __init__(self) -> None:
        self.context: SparkContext | None = None

    def get(self) -> SparkContext:
        if self.context is None:
            self.context = SparkContext("local[2]", "contract")
        return self.context

    def stop(self) -> None:
        if self.context is not None:
            self.context.stop()
            self.context = None


@pytest.fixture(scope="module")
def shared_context() -> Iterator[SharedContext]:
    shared = SharedContext()
    yield shared
    shared.stop()


@pytest.fixture
def sc(shared_context: SharedContext) -> Iterator[SparkContext]:
    """The shared context; whatever a test did, it must be able to run the next job."""
    context = shared_context.get()
    yield context
    context._flags.adopt(({}, set()))
    try:
        assert context.parallelize(range(10), 2).map(lambda x: x + 1).sum() == 55
    except BaseException:
        shared_context.stop()
        raise


@pytest.fixture
def no_context(shared_context: SharedContext) -> Iterator[None]:
    """No context runs when the test begins, and none stays."""
    shared_context.stop()
    yield
    if SparkContext._active_spark_context is not None:
        SparkContext._active_spark_context.stop()


@pytest.fixture
def start(no_context: None) -> Start:
    """Starts a context with settings; the last one is stopped after the test."""

    def start_context(master: str = "local[2]", **settings: object) -> SparkContext:
        conf = SparkConf(False).setMaster(master).setAppName("contract")
        for name, value in settings.items():
            conf.set(name.replace("__", "."), str(value))
        return SparkContext(conf=conf)

    return start_context


@pytest.fixture
def marks(tmp_path: Path) -> Marks:
    folder = tmp_path / "marks"
    folder.mkdir()
    return Marks(folder)
