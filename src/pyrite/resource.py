"""Resources of executors and tasks as PySpark's programs ask for them.

Profiles can be made and read; `RDD.withResources` refuses them, as Spark's local mode does.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from pyrite.quantities import parse_bytes
from pyrite.taskcontext import ResourceInformation

__all__ = [
    "ExecutorResourceRequest",
    "ExecutorResourceRequests",
    "ResourceInformation",
    "ResourceProfile",
    "ResourceProfileBuilder",
    "TaskResourceRequest",
    "TaskResourceRequests",
]

# Zero is the profile of RDDs that ask for nothing.
_profile_ids = itertools.count(1)


class TaskResourceRequest(NamedTuple):
    """How much of one resource a task needs."""

    resourceName: str
    amount: float


class ExecutorResourceRequest(NamedTuple):
    """How much of one resource an executor needs; memory is in MiB."""

    resourceName: str
    amount: int
    discoveryScript: str = ""
    vendor: str = ""


class TaskResourceRequests:
    """What each task needs.

    >>> TaskResourceRequests().cpus(2).requests
    {'cpus': TaskResourceRequest(resourceName='cpus', amount=2.0)}
    """

    def __init__(self) -> None:
        self.requests: dict[str, TaskResourceRequest] = {}

    def cpus(self, amount: float) -> TaskResourceRequests:
        """Cores of a task."""
        return self.resource("cpus", amount)

    def resource(self, resourceName: str, amount: float) -> TaskResourceRequests:
        """Any other resource of a task, such as gpu."""
        self.requests[resourceName] = TaskResourceRequest(resourceName, float(amount))
        return self


class ExecutorResourceRequests:
    """What each executor needs.

    >>> ExecutorResourceRequests().memory("2g").cores(4).requests["memory"].amount
    2048
    """

    def __init__(self) -> None:
        self.requests: dict[str, ExecutorResourceRequest] = {}

    def cores(self, amount: int) -> ExecutorResourceRequests:
        """Cores of an executor."""
        return self.resource("cores", amount)

    def memory(self, amount: str) -> ExecutorResourceRequests:
        """Memory of an executor, such as 2g."""
        return self._memory("memory", amount)

    def memoryOverhead(self, amount: str) -> ExecutorResourceRequests:
        """Memory beside the JVM's."""
        return self._memory("memoryOverhead", amount)

    def pysparkMemory(self, amount: str) -> ExecutorResourceRequests:
        """Memory of Python's processes."""
        return self._memory("pyspark.memory", amount)

    def offheapMemory(self, amount: str) -> ExecutorResourceRequests:
        """Memory outside the heap."""
        return self._memory("offHeap", amount)

    def resource(
        self, resourceName: str, amount: int, discoveryScript: str = "", vendor: str = ""
    ) -> ExecutorResourceRequests:
        """Any other resource of an executor, such as gpu."""
        request = ExecutorResourceRequest(resourceName, amount, discoveryScript, vendor)
        self.requests[resourceName] = request
        return self

    def _memory(self, name: str, amount: str) -> ExecutorResourceRequests:
        return self.resource(name, parse_bytes(amount, bare_unit="m") >> 20)


class ResourceProfile:
    """What the executors and the tasks of an RDD need."""

    def __init__(
        self,
        executor: dict[str, ExecutorResourceRequest],
        task: dict[str, TaskResourceRequest],
    ) -> None:
        self.id = next(_profile_ids)
        self.executorResources = executor
        self.taskResources = task


class ResourceProfileBuilder:
    """Puts a profile together.

    >>> profile = ResourceProfileBuilder().require(TaskResourceRequests().cpus(1)).build
    >>> list(profile.taskResources)
    ['cpus']
    """

    def __init__(self) -> None:
        self.clearExecutorResourceRequests()
        self.clearTaskResourceRequests()

    def require(
        self, resourceRequest: ExecutorResourceRequests | TaskResourceRequests
    ) -> ResourceProfileBuilder:
        """Adds requests, in place of earlier ones of the same resource."""
        if isinstance(resourceRequest, TaskResourceRequests):
            self.taskResources.update(resourceRequest.requests)
        else:
            self.executorResources.update(resourceRequest.requests)
        return self

    def clearExecutorResourceRequests(self) -> None:
        """Takes back what was asked for executors."""
        self.executorResources: dict[str, ExecutorResourceRequest] = {}

    def clearTaskResourceRequests(self) -> None:
        """Takes back what was asked for tasks."""
        self.taskResources: dict[str, TaskResourceRequest] = {}

    @property
    def build(self) -> ResourceProfile:
        """The profile."""
        return ResourceProfile(dict(self.executorResources), dict(self.taskResources))
