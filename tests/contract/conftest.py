"""Contexts: a shared one, and own ones for tests that change it.

Tests run on every adapter, but for those that masters.py names.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from adapters import ADAPTERS, make_context
from marks import Marks
from masters import fewer

from pyrite import SparkContext

Start = Callable[..., SparkContext]

# Tests count how often rows are computed: those that an executor keeps are computed again by
# another where it is thought too slow, and any machine may stand still for a few seconds.
PATIENT = {"spark.locality.wait": "60s"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    name = metafunc.definition.nodeid.rpartition("/")[2].replace(".py", "", 1)
    found, uses_adapter = fewer(name), "adapter" in metafunc.fixturenames
    if found is None and not uses_adapter:
        raise pytest.UsageError(f"{name} uses no adapter's context: say why in masters.py")
    if uses_adapter and (found is None or not found.own):
        masters = ADAPTERS if found is None else found.masters
        metafunc.parametrize("adapter", masters, indirect=True, scope="module")


@pytest.fixture(scope="module")
def adapter(request: pytest.FixtureRequest) -> str:
    return getattr(request, "param", "local")


class SharedContext:
    """A context that lives until a test wants one of its own."""

    def __init__(self, adapter: str) -> None:
        self.adapter = adapter
        self.context: SparkContext | None = None

    def get(self) -> SparkContext:
        if self.context is None:
            self.context = make_context(self.adapter, PATIENT)
        return self.context

    def stop(self) -> None:
        if self.context is not None:
            self.context.stop()
            self.context = None


@pytest.fixture(scope="module")
def shared_context(adapter: str) -> Iterator[SharedContext]:
    shared = SharedContext(adapter)
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
def start(no_context: None, adapter: str) -> Start:
    """Starts a context with settings; the last one is stopped after the test."""

    def start_context(master: str | None = None, **settings: object) -> SparkContext:
        chosen = {name.replace("__", "."): str(value) for name, value in settings.items()}
        return make_context(adapter, chosen | ({"spark.master": master} if master else {}))

    return start_context


@pytest.fixture
def marks(tmp_path: Path) -> Marks:
    folder = tmp_path / "marks"
    folder.mkdir()
    return Marks(folder)
