"""Pyrite: in-memory cluster computing for Python, with the RDD API and no JVM."""

from typing import TYPE_CHECKING, Any

from pyrite.lazy import load_lazily
from pyrite.version import __version__

if TYPE_CHECKING:
    from pyrite.accumulators import Accumulator, AccumulatorParam
    from pyrite.broadcast import Broadcast
    from pyrite.conf import SparkConf
    from pyrite.context import SparkContext
    from pyrite.profiler import BasicProfiler, Profiler
    from pyrite.rdd.barrier import RDDBarrier
    from pyrite.rdd.partitioners import (
        ExtendablePartitioner,
        HashPartitioner,
        StaticRangePartitioner,
    )
    from pyrite.rdd.rdd import RDD
    from pyrite.rdd.zorder import zOrder
    from pyrite.serializers import CPickleSerializer, MarshalSerializer
    from pyrite.sparkfiles import SparkFiles
    from pyrite.sql import Row
    from pyrite.status import SparkExecutorInfo, SparkJobInfo, SparkStageInfo, StatusTracker
    from pyrite.storagelevel import StorageLevel
    from pyrite.taskcontext import BarrierTaskContext, BarrierTaskInfo, TaskContext
    from pyrite.util import InheritableThread, inheritable_thread_target

__all__ = [
    "RDD",
    "Accumulator",
    "AccumulatorParam",
    "BarrierTaskContext",
    "BarrierTaskInfo",
    "BasicProfiler",
    "Broadcast",
    "CPickleSerializer",
    "ExtendablePartitioner",
    "HashPartitioner",
    "InheritableThread",
    "MarshalSerializer",
    "Profiler",
    "RDDBarrier",
    "Row",
    "SparkConf",
    "SparkContext",
    "SparkExecutorInfo",
    "SparkFiles",
    "SparkJobInfo",
    "SparkStageInfo",
    "StaticRangePartitioner",
    "StatusTracker",
    "StorageLevel",
    "TaskContext",
    "__version__",
    "inheritable_thread_target",
    "zOrder",
]

HOMES = {
    "Accumulator": "pyrite.accumulators",
    "AccumulatorParam": "pyrite.accumulators",
    "BarrierTaskContext": "pyrite.taskcontext",
    "BarrierTaskInfo": "pyrite.taskcontext",
    "BasicProfiler": "pyrite.profiler",
    "Broadcast": "pyrite.broadcast",
    "CPickleSerializer": "pyrite.serializers",
    "ExtendablePartitioner": "pyrite.rdd.partitioners",
    "HashPartitioner": "pyrite.rdd.partitioners",
    "InheritableThread": "pyrite.util",
    "MarshalSerializer": "pyrite.serializers",
    "Profiler": "pyrite.profiler",
    "RDD": "pyrite.rdd.rdd",
    "RDDBarrier": "pyrite.rdd.barrier",
    "Row": "pyrite.sql",
    "SparkConf": "pyrite.conf",
    "SparkContext": "pyrite.context",
    "SparkExecutorInfo": "pyrite.status",
    "SparkFiles": "pyrite.sparkfiles",
    "SparkJobInfo": "pyrite.status",
    "SparkStageInfo": "pyrite.status",
    "StaticRangePartitioner": "pyrite.rdd.partitioners",
    "StatusTracker": "pyrite.status",
    "StorageLevel": "pyrite.storagelevel",
    "TaskContext": "pyrite.taskcontext",
    "inheritable_thread_target": "pyrite.util",
    "zOrder": "pyrite.rdd.zorder",
}


def __getattr__(name: str) -> Any:
    return load_lazily(__name__, name, HOMES)
