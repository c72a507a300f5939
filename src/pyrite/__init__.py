"""Pyrite: in-memory cluster computing for Python, with the RDD API and no JVM."""

from pyrite.accumulators import Accumulator, AccumulatorParam
from pyrite.broadcast import Broadcast
from pyrite.conf import SparkConf
from pyrite.context import SparkContext
from pyrite.files import SparkFiles
from pyrite.rdd import RDD, RDDBarrier
from pyrite.serializers import CPickleSerializer, MarshalSerializer
from pyrite.status import SparkJobInfo, SparkStageInfo, StatusTracker
from pyrite.storagelevel import StorageLevel
from pyrite.taskcontext import BarrierTaskContext, BarrierTaskInfo, TaskContext
from pyrite.util import InheritableThread, inheritable_thread_target
from pyrite.version import __version__

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
