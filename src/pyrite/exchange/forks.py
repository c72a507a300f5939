"""Closes the parent's connections in forked children."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class Held(Protocol):
    """An object with descriptors that a child must close."""

    def let_go(self) -> None:
        """Closes the descriptors without sending anything."""


_held: WeakSet[Held] = WeakSet()


def not_in_children(held: Held) -> None:
    """Has the object closed in each child that is forked from now on.

    A child that held a socket of its parent would hide the parent's end from the other side.
    """
    _held.add(held)


def _let_go() -> None:
    for held in list(_held):
        held.let_go()


os.register_at_fork(after_in_child=_let_go)
