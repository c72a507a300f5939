"""What the engine knows of an operator: how one partition is computed from its parents' rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pyrite.bounded.space import Space
    from pyrite.ids import BlockRef


class Input(Protocol):
    """The rows that one dependency brings to one partition."""

    def rows(self) -> Iterator[Any]:
        """The rows, from the start; each call reads them anew."""

    def batches(self) -> Iterator[list[Any]]:
        """The same rows in lists."""


class Env(Protocol):
    """What a task lends to the operators it runs."""

    space: Space

    def read_block(self, ref: BlockRef) -> memoryview:
        """The bytes of a block that lies in the pool or on disk."""


class Op:
    """One operator; subclasses are small, picklable and know nothing of the driver."""

    name = "op"

    # Whether the rows come in another order where some of them go to disk.
    order_varies = False

    def compute(self, index: int, inputs: list[Input], env: Env) -> Iterator[Any]:
        """The rows of partition `index`, given one input per dependency."""
        raise NotImplementedError

    def partitions(self) -> int | None:
        """How many partitions a source has; None where the dependencies decide."""
        return None
