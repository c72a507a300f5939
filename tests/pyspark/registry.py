"""Cases: small programs whose results are recorded from PySpark and demanded of Pyrite."""

import importlib
import inspect
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.pyspark.encoding import arrange, encode, shortened
from tests.pyspark.raised import Raised

MASTER = "local[2]"
APP_NAME = "recorded"
_cases: list["Case"] = []


@dataclass(frozen=True)
class Case:
    """One program, the methods it is about, and what it needs to run."""

    name: str
    methods: tuple[str, ...]
    function: Callable[..., Any]
    order: str = "exact"
    context: str = "shared"
    conf: Mapping[str, str] = field(default_factory=dict)
    is_long: bool = False

    @property
    def needs(self) -> set[str]:
        return set(inspect.signature(self.function).parameters)


def case(
    *methods: str,
    order: str = "exact",
    context: str = "shared",
    conf: Mapping[str, str] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a program about these methods (`name` of an RDD, `sc.name` of a context).

    `order` is "exact", "sorted" (the list in any order) or "layout" (a list of partitions, each
    in any order). `context` is "shared", "fresh" (its own, made with `conf`) or "none".
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        add_case(Case(name, methods, function, order, context, dict(conf or {})))
        return function

    return register


def add_case(made: Case) -> None:
    """Registers a program that a table made."""
    _cases.append(made)


def all_cases() -> list[Case]:
    """Every case by name, those that share a context first."""
    for path in sorted(Path(__file__).with_name("cases").glob("*.py")):
        importlib.import_module(f"tests.pyspark.cases.{path.stem}")
    # Not where cases are added: executors import them too, and again where a task was cancelled
    # in the middle of an import.
    twice = [name for name, times in Counter(each.name for each in _cases).items() if times > 1]
    assert not twice, f"several cases are named {twice}"
    return sorted(_cases, key=lambda c: (c.context != "shared", c.name))


def outcome(build: Callable[[], Any], act: Callable[[Any], Any] | None = None) -> Any:
    """What came of a call and of the action after it: a value, or the moment and kind of error."""
    try:
        built = build()
    except Exception as error:
        return Raised.from_error("call", error)
    if act is None:
        return built
    try:
        return act(built)
    except Exception as error:
        return Raised.from_error("action", error)


def fails(call: Callable[[], Any]) -> bool:
    """Whether a call raises: for errors whose class is an accident of PySpark's code."""
    return isinstance(outcome(call), Raised)


class Contexts:
    """The contexts that cases run on: at most one at a time, the shared one kept."""

    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make
        self._shared: Any = None

    def run(self, chosen: Case) -> str:
        """The encoded result of one case."""
        # A checkpoint may still be written there in the background.
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            found = self._call(chosen, Path(folder))
            return shortened(encode(arrange(found, chosen.order)))

    def close(self) -> None:
        if self._shared is not None:
            self._shared.stop()
            self._shared = None

    def _call(self, chosen: Case, folder: Path) -> Any:
        given: dict[str, Any] = {"folder": folder} if "folder" in chosen.needs else {}
        if chosen.context == "shared":
            if self._shared is None:
                self._shared = self._make({})
            return chosen.function(self._shared, **given)
        self.close()
        if chosen.context == "none":
            return chosen.function(**given)
        context = self._make(chosen.conf)
        try:
            return chosen.function(context, **given)
        finally:
            context.stop()
