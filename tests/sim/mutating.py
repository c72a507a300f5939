"""What a deliberate bug is, and how it is switched on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

# Too rare for seeds drawn at random: thousands don't meet it, and its kept case does.
KEPT_ONLY = 0


class Mutation(NamedTuple):
    """A bug: what it replaces, by what, and within how many seeds it must be found."""

    owner: Any
    name: str
    bug: Any
    within: int = 500


MUTATIONS: dict[str, Mutation] = {}


def mutation(owner: Any, name: str, within: int = 500) -> Callable[[Any], Any]:
    """Names a bug by its function."""

    def add(bug: Any) -> Any:
        MUTATIONS[bug.__name__.replace("_", " ")] = Mutation(owner, name, bug, within)
        return bug

    return add


@contextmanager
def switched_on(name: str) -> Iterator[None]:
    chosen = MUTATIONS[name]
    with patch.object(chosen.owner, chosen.name, chosen.bug):
        yield
