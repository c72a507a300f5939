"""A collection as its user sees it."""

from __future__ import annotations

from typing import Any, NamedTuple

from pyrite.ids import ExecutorId, NamespaceId, RddId


class GroupReport(NamedTuple):
    """A group of a collection: its first and its last partition, and who holds them."""

    first: int
    last: int
    bytes: int
    executors: tuple[ExecutorId, ...]


class CollectionReport(NamedTuple):
    """The RDDs of a namespace that are persisted, and the groups of their partitions."""

    namespace: NamespaceId
    name: str
    rdds: tuple[RddId, ...]
    # How often its groups have changed.
    version: int
    groups: tuple[GroupReport, ...]
    tree: str
    partitioner: Any = None

    def __str__(self) -> str:
        return f"{self.name}: {self.partitioner!r}, version {self.version}\n{self.tree}"
