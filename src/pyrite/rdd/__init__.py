"""Resilient distributed datasets: the user's face of the engine.

Names are loaded when they are first asked for: executors need the operators, not the face.
"""

from typing import TYPE_CHECKING, Any

from pyrite.lazy import load_lazily

if TYPE_CHECKING:
    from pyrite.hashing import portable_hash
    from pyrite.rdd.approximate import BoundedFloat
    from pyrite.rdd.barrier import RDDBarrier
    from pyrite.rdd.partitioner import Partitioner
    from pyrite.rdd.rdd import RDD
    from pyrite.rdd.rdd import RDD as PipelinedRDD

__all__ = [
    "RDD",
    "BoundedFloat",
    "Partitioner",
    "PipelinedRDD",
    "RDDBarrier",
    "portable_hash",
]

HOMES = {
    "RDD": "pyrite.rdd.rdd",
    "PipelinedRDD": "pyrite.rdd.rdd:RDD",
    "RDDBarrier": "pyrite.rdd.barrier",
    "BoundedFloat": "pyrite.rdd.approximate",
    "Partitioner": "pyrite.rdd.partitioner",
    "portable_hash": "pyrite.hashing",
}


def __getattr__(name: str) -> Any:
    return load_lazily(__name__, name, HOMES)
