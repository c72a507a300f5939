"""What the engine knows of an operator: how one partition is computed from its parents' rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from pyrite.bounded.space import Space
    from pyrite.ids import BlockRef
    from pyrite.machine.chain import Chain, Tracing
    from pyrite.machine.packed import PackedRows


class Input(Protocol):
    """The rows that one dependency brings to one partition."""

    def rows(self) -> Iterator[Any]:
        """The rows, from the start; each call reads them anew."""

    def batches(self) -> Iterator[list[Any]]:
        """The same rows in lists."""

    def frames(self) -> Iterator[list[Any] | PackedRows]:
        """The same, where packed rows stay packed."""

    def chain(self) -> Chain:
        """The rows, and the steps that are still to be run over them."""


class Env(Protocol):
    """What a task lends to the operators it runs."""

    space: Space
    tracing: Tracing

    def read_rows(self, ref: BlockRef) -> Iterator[list[Any]]:
        """The bytes of a block that lies in the pool or on disk."""


class DivisionRule(NamedTuple):
    """Along which of its inputs an operator's work on one partition can be divided.

    `merge` then makes the partition of what it has made of the pieces.
    """

    input: int = 0
    # Its rows are those of its input, as they come.
    passes_on: bool = False


class Op:
    """One operator; subclasses are small, picklable and know nothing of the driver."""

    name = "op"

    # Whether PySpark runs it in Python: pickled in one pipeline with its only parent and its
    # child, with the functions of the user's that they have. Others are pickled by themselves.
    pipelined = False
    # Whether the rows come in another order where some of them go to disk.
    order_varies = False
    # Whether, and how, several tasks can work on one partition.
    division: DivisionRule | None = None

    def compute(self, index: int, inputs: list[Input], env: Env) -> Iterator[Any]:
        """The rows of partition `index`, given one input per dependency."""
        raise NotImplementedError

    def merge(self, pieces: list[Iterator[Any]], env: Env) -> Iterator[Any]:
        """The rows of a partition, from those of pieces of its input: one behind another, if the
        operator does not say otherwise."""
        return chain.from_iterable(pieces)

    def preferred_locations(self, index: int) -> Sequence[str]:
        """The nodes that partition `index` would like to be computed on, the best first."""
        return ()

    def partition_key(self, index: int) -> int | None:
        """The key on the hash ring of what partition `index` reads, if it has one."""
        return None

    def partition_bytes(self, index: int) -> int | None:
        """How many bytes of its own input partition `index` has, if that is known before."""
        return None

    def verdict(self, said: Sequence[str]) -> str:
        """Where the row machine said that its function ran; empty if it said nothing."""
        return ""

    def partitions(self) -> int | None:
        """How many partitions a source has; None where the dependencies decide."""
        return None


class Sliced(Op):
    """An operator that has something for each partition, such as its rows or its files.

    The driver has all slices, by index; a task is sent its own, and not with the stage.
    """

    slices: Sequence[Any] | Mapping[int, Any]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "slices"}
