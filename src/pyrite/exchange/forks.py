"""What a forked child must not hold: connections that speak for its parent."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class Held(Protocol):
    """Something whose descriptors a child has no use for."""

    def let_go(self) -> None:
        """Closes the descriptors here, and says nothing to anybody."""


_held: WeakSet[Held] = WeakSet()


def not_in_children(held: Held) -> None:
    """Has this let go in each child that is forked from now on.

    A child that held a socket of its parent would hide from the other side that the parent ended.
    """
    _held.add(held)


def _let_go() -> None:
    for held in list(_held):
        held.let_go()


os.register_at_fork(after_in_child=_let_go)
