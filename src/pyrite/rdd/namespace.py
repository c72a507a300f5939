"""A namespace: a collection of RDDs with one partitioner that are kept co-located (Stark)."""

from __future__ import annotations

from dataclasses import dataclass

from pyrite.ids import NamespaceId
from pyrite.rdd.partitioner import Partitioner


@dataclass(eq=False, slots=True)
class Namespace:
    """One collection, as the driver knows it; a name that was dropped may be used again."""

    id: NamespaceId
    name: str
    partitioner: Partitioner
    # The line that made it.
    site: str
    is_dropped: bool = False
