"""Functions pickled once: which operators are pickled together, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from pyrite.rdd.callsite import CallSite
from pyrite.rdd.dependency import SAME, Dependency, Mapping, ShuffleDependency
from pyrite.rdd.op import Op

if TYPE_CHECKING:
    from pyrite.broadcast import Broadcast
    from pyrite.ids import RddId
    from pyrite.rdd.base import Lineage


class FrozenInput(NamedTuple):
    """A parent within the same stage that is pickled by itself."""

    frozen: Frozen
    mapping: Mapping


class NamedCall(NamedTuple):
    """The call that made an operator's RDD, the name that the user gave the RDD, and its id if it
    has one."""

    site: CallSite
    name: str | None
    rdd: RddId | None


class Pipeline(NamedTuple):
    """Operators that are pickled together, the first one first, and what the first one reads."""

    ops: tuple[Op, ...]
    inputs: tuple[FrozenInput | ShuffleDependency, ...]
    barrier: bool = False
    # The calls that made the operators.
    calls: tuple[NamedCall, ...] = ()


class Frozen:
    """A pipeline as it was when it was pickled, whatever its functions captured becomes since.

    `rdd` is the RDD that it is for the RDD's life; None where it is a copy for one child or job.
    """

    __slots__ = ("broadcasts", "pickled", "pipeline", "rdd")

    def __init__(
        self,
        pipeline: Pipeline,
        pickled: bytes,
        rdd: RddId | None = None,
        broadcasts: tuple[Broadcast[Any], ...] = (),
    ) -> None:
        self.rdd = rdd
        self.replace(pipeline, pickled, broadcasts)

    def replace(
        self, pipeline: Pipeline, pickled: bytes, broadcasts: tuple[Broadcast[Any], ...] = ()
    ) -> None:
        """Makes it another one for all that read it: the RDD was checkpointed."""
        # The operators of the driver, which knows their kinds; their functions are in the bytes.
        self.pipeline = pipeline
        # The operators, and what is done with their rows where they are the last of a stage.
        self.pickled = pickled
        # Held, since nobody else may hold them any more.
        self.broadcasts = broadcasts


def pipeline_of(rdd: Lineage[Any], freeze: Callable[[Lineage[Any]], Frozen]) -> Pipeline:
    """The operators that are pickled with an RDD's own: those of its parents down to one that is
    pickled by itself, for which `freeze` is asked."""
    ops = [rdd.op]
    calls = [NamedCall(rdd._called, rdd._name, rdd._known_id)]
    barrier = rdd._barrier
    while (parent := pipelined_parent(rdd)) is not None:
        rdd = parent
        ops.append(rdd.op)
        calls.append(NamedCall(rdd._called, rdd._name, rdd._known_id))
        barrier = barrier or rdd._barrier
    inputs = tuple(frozen_input(each, freeze) for each in rdd.dependencies)
    return Pipeline(tuple(reversed(ops)), inputs, barrier, tuple(reversed(calls)))


def pipelined_parent(rdd: Lineage[Any]) -> Lineage[Any] | None:
    if not rdd.op.pipelined or len(rdd.dependencies) != 1:
        return None
    only = rdd.dependencies[0]
    if isinstance(only, ShuffleDependency) or only.frozen is not None:
        return None
    return only.rdd if only.rdd._is_pipelined else None


def frozen_input(
    dependency: Dependency, freeze: Callable[[Lineage[Any]], Frozen]
) -> FrozenInput | ShuffleDependency:
    if isinstance(dependency, ShuffleDependency):
        return dependency
    return FrozenInput(dependency.frozen or freeze(dependency.rdd), dependency.mapping)


def reading(frozen: Frozen) -> Pipeline:
    """A pipeline without operators: what is done next with the rows of a frozen one."""
    return Pipeline((), (FrozenInput(frozen, SAME),))
