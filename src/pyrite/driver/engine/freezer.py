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
        # Held by whoever looks at operators and dependencies, which a checkpoint replaces. A thread
        # may take it again: pickling calls the user's code, and that may freeze another RDD.
        self.lock = threading.RLock()

    def freeze(self, rdd: Lineage[Any]) -> Frozen:
        """The RDD as it was when this was first asked for."""
        with self.lock:
            if rdd._frozen is None:
                frozen = pickled(pipeline_of(rdd, self.freeze), None, rdd)
                frozen.rdd = rdd._id
                rdd._frozen = frozen
            return rdd._frozen

    def copy(self, rdd: Lineage[Any], work: Any = None) -> Frozen:
        """The RDD as it is now, with what is done with its rows: for one child, or for one job."""
        with self.lock:
            if rdd._is_pipelined:
                return pickled(pipeline_of(rdd, self.freeze), work, rdd)
            frozen = self.freeze(rdd)
            return frozen if work is None else pickled(reading(frozen), work, rdd)

    def copy_of_frozen(self, rdd: Lineage[Any], work: Any) -> Frozen:
        """As `copy`, of the RDD as it is frozen, for work that has no function of the user's."""
        return Frozen(reading(self.freeze(rdd)), pickle.dumps(((), work)))

    def replace(self, rdd: Lineage[Any], op: Op) -> None:
        """The RDD is read from what was written of it, by all that read it as it was frozen."""
        frozen = self.freeze(rdd)
        rdd.op = op
        rdd.dependencies = ()
        new = pickled(pipeline_of(rdd, self.freeze), None, rdd)
        frozen.replace(new.pipeline, new.pickled)


def pickled(pipeline: Pipeline, work: Any, rdd: Lineage[Any]) -> Frozen:
    """A pipeline with what is done with its rows; names what can't be pickled, or is large."""
    content = (pipeline.ops, work)
    if work is None and not any(op.pipelined for op in pipeline.ops):
        # There is nothing of the user's in it.
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
