"""The freezer: pickles the functions of RDDs, at the moments when PySpark does."""

from __future__ import annotations

import logging
import pickle
import threading
from typing import Any

from pyrite.broadcast import captured
from pyrite.execute.closures import dumps, large_captures
from pyrite.rdd.base import Lineage
from pyrite.rdd.frozen import Frozen, Pipeline, pipeline_of, reading
from pyrite.rdd.op import Op

LARGE_BYTES = 1 << 20


class Freezer:
    """Pickles each RDD once for its life, and pipelines of RDDs for a child or a job."""

    def __init__(self) -> None:
        # Held while operators and dependencies are read, which a checkpoint replaces. Reentrant:
        # pickling calls the user's code, which may freeze another RDD.
        self.lock = threading.RLock()

    def freeze(self, rdd: Lineage[Any]) -> Frozen:
        """Returns the RDD as it was at the first call."""
        with self.lock:
            if rdd._frozen is None:
                frozen = pickled(pipeline_of(rdd, self.freeze), None, rdd)
                frozen.rdd = rdd._id
                rdd._frozen = frozen
            return rdd._frozen

    def copy(self, rdd: Lineage[Any], work: Any = None) -> Frozen:
        """Pickles the RDD as it is now, with the work on its rows: for one child or one job."""
        with self.lock:
            if rdd._is_pipelined:
                return pickled(pipeline_of(rdd, self.freeze), work, rdd)
            frozen = self.freeze(rdd)
            return frozen if work is None else pickled(reading(frozen), work, rdd)

    def copy_of_frozen(self, rdd: Lineage[Any], work: Any) -> Frozen:
        """As `copy`, for the RDD as it is frozen, and work without a function of the user's."""
        return Frozen(reading(self.freeze(rdd)), pickle.dumps(((), work)))

    def replace(self, rdd: Lineage[Any], op: Op) -> None:
        """Replaces the RDD's operator, also for all that have it frozen."""
        frozen = self.freeze(rdd)
        rdd.op = op
        rdd.dependencies = ()
        new = pickled(pipeline_of(rdd, self.freeze), None, rdd)
        frozen.replace(new.pipeline, new.pickled)


def pickled(pipeline: Pipeline, work: Any, rdd: Lineage[Any]) -> Frozen:
    """Pickles a pipeline with the work on its rows; names what can't be pickled, or is large."""
    content = (pipeline.ops, work)
    if work is None and not any(op.pipelined for op in pipeline.ops):
        # It has no code of the user's.
        return Frozen(pipeline, pickle.dumps(content))
    name = f"{rdd._name or rdd._method} at {rdd._site}"
    with captured() as broadcasts:
        done = dumps(content, name)
    if len(done) > LARGE_BYTES:
        warn_of_size(name, len(done), content)
    return Frozen(pipeline, done, broadcasts=tuple(broadcasts))


def warn_of_size(name: str, size: int, content: Any) -> None:
    captures = large_captures(content, LARGE_BYTES)
    blame = ", ".join(f"{path} ({size >> 20} MiB)" for path, size in captures)
    logging.getLogger("pyrite").warning(
        "%s: its functions take %d MiB, which every executor gets%s; broadcast large values",
        name,
        size >> 20,
        f": {blame}" if blame else "",
    )
