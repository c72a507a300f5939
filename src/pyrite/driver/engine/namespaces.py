"""The namespaces of a context: each has the partitioner of its first use."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable

from pyrite.errors import UserError
from pyrite.ids import NamespaceId
from pyrite.rdd.namespace import Namespace
from pyrite.rdd.partitioner import Partitioner
from pyrite.rdd.partitioners import ExtendablePartitioner, digest_of, groups_of
from pyrite.schedule.events import Event, NamespaceDropped, NamespaceMade


class Namespaces:
    """Makes and ends namespaces; callable from any thread."""

    def __init__(self, post: Callable[[Event], None]) -> None:
        self.post = post
        self.lock = threading.Lock()
        self.ids = itertools.count()
        self.by_name: dict[str, Namespace] = {}

    def use(self, name: str, partitioner: Partitioner, site: str) -> Namespace:
        """Returns the namespace, which the first use makes; refuses another partitioner."""
        with self.lock:
            found = self.by_name.get(name)
            if found is None:
                found = Namespace(NamespaceId(next(self.ids)), name, partitioner, site)
                self.by_name[name] = found
                count = partitioner.numPartitions
                extendable = isinstance(partitioner, ExtendablePartitioner)
                groups = groups_of(partitioner)
                digest = digest_of(partitioner)
                self.post(NamespaceMade(found.id, name, count, groups, extendable, digest))
        if found.partitioner != partitioner:
            raise UserError(
                f"namespace {name!r} has {found.partitioner!r}, since {found.site}, and can't have "
                f"{partitioner!r} at {site}: use its partitioner, another namespace, or "
                f"sc.dropNamespace({name!r}) first"
            )
        return found

    def drop(self, name: str) -> None:
        """Ends a namespace; its RDDs stay as they are, and are placed as any others."""
        with self.lock:
            found = self.by_name.pop(name, None)
            if found is None:
                known = ", ".join(map(repr, self.by_name)) or "none"
                raise UserError(f"there is no namespace {name!r}: there are {known}")
            found.is_dropped = True
            self.post(NamespaceDropped(found.id))
