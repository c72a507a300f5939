"""Pyrite: in-memory cluster computing for Python, with the RDD API and no JVM."""

from typing import TYPE_CHECKING, Any

from pyrite.lazy import load_lazily
from pyrite.version import __version__

if TYPE_CHECKING:
    from pyrite.accumulators import Accumulator, AccumulatorParam
    from pyrite.broadcast import Broadcast
    from pyrite.conf import SparkConf
    from pyrite.context import SparkContext
    from pyrite.rdd.barrier import RDDBarrier
    from pyrite.rdd.rdd import RDD
    from pyrite.serializers import CPickleSerializer, MarshalSerializer
    from pyrite.sparkfiles import SparkFiles
    from pyrite.sql import Row
    from pyrite.status import SparkJobInfo, SparkStageInfo, StatusTracker
    from pyrite.storagelevel import StorageLevel
    from pyrite.taskcontext import BarrierTaskContext, BarrierTaskInfo, TaskContext
    from pyrite.util import InheritableThread, inheritable_thread_target

__all__ = [
    "RDD",
    "Accumulator",
    "AccumulatorParam",
    "BarrierTaskContext",
    "BarrierTaskInfo",
    "Broadcast",
    "CPickleSerializer",
    "InheritableThread",
    "MarshalSerializer",
    "RDDBarrier",
    "Row",
    "SparkConf",
    "SparkContext",
    "SparkFiles",
    "SparkJobInfo",
    "SparkStageInfo",
    "StatusTracker",
    "StorageLevel",
    "TaskContext",
    "__version__",
    "inheritable_thread_target",
]

HOMES = {
    "Accumulator": "pyrite.accumulators",
    "AccumulatorParam": "pyrite.accumulators",
    "BarrierTaskContext": "pyrite.taskcontext",
    "BarrierTaskInfo": "pyrite.taskcontext",
    "Broadcast": "pyrite.broadcast",
    "CPickleSerializer": "pyrite.serializers",
    "InheritableThread": "pyrite.util",
    "MarshalSerializer": "pyrite.serializers",
    "RDD": "pyrite.rdd.rdd",
    "RDDBarrier": "pyrite.rdd.barrier",
    "Row": "pyrite.sql",
    "SparkConf": "pyrite.conf",
    "SparkContext": "pyrite.context",
    "SparkFiles": "pyrite.sparkfiles",
    "SparkJobInfo": "pyrite.status",
    "SparkStageInfo": "pyrite.status",
    "StatusTracker": "pyrite.status",
    "StorageLevel": "pyrite.storagelevel",
    "TaskContext": "pyrite.taskcontext",
    "inheritable_thread_target": "pyrite.util",
}


def __getattr__(name: str) -> Any:
    return load_lazily(__name__, name, HOMES)
