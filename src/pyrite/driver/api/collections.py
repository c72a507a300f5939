"""Collections of RDDs that are kept together (Stark)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyrite.driver.engine.engine import Engine
from pyrite.errors import UserError
from pyrite.place.collectionreport import CollectionReport
from pyrite.rdd.base import require_rdds
from pyrite.rdd.callsite import call_site
from pyrite.rdd.namespace import Namespace
from pyrite.rdd.partitioner import Partitioner
from pyrite.schedule.events import RddReported

if TYPE_CHECKING:
    from pyrite.rdd.rdd import RDD


class CollectionMethods:
    """The part of a context that keeps collections."""

    _engine: Engine

    def dropNamespace(self, name: str) -> None:
        """Ends a namespace: its name may be used again, with another partitioner.

        Its RDDs stay, and what is kept of them; they are placed as any others.
        """
        self._engine.check_usable()
        self._engine.namespaces.drop(name)

    def collections(self) -> dict[str, CollectionReport]:
        """The collections by name: their partitioner, RDDs, and groups with their executors.

        >>> from pyrite import HashPartitioner
        >>> pairs = sc.parallelize([(1, 1), (2, 2)])
        >>> hours = pairs.localityPartitionBy(HashPartitioner(2), "hours").cache()
        >>> hours.count()
        2
        >>> [(group.first, group.last) for group in sc.collections()["hours"].groups]
        [(0, 0), (1, 1)]
        >>> sc.dropNamespace("hours")
        """
        found = {report.namespace: report for report in self._engine.collections()}
        known = list(self._engine.namespaces.by_name.values())
        return {
            each.name: found[each.id]._replace(partitioner=each.partitioner)
            for each in known
            if each.id in found
        }

    def reportRDD(self, rdd: RDD[Any]) -> None:
        """Has the groups of an RDD's collection split and merge by what is kept now."""
        require_rdds(rdd)
        self._engine.check_usable()
        if rdd._namespace is None:
            raise UserError(
                f"{rdd!r} belongs to no namespace: make it with localityPartitionBy, or from an "
                "RDD that does"
            )
        self._engine.post(RddReported(rdd._id))

    def _use_namespace(self, name: str, partitioner: Partitioner) -> Namespace:
        """The namespace, which the first use makes."""
        self._engine.check_usable()
        return self._engine.namespaces.use(name, partitioner, call_site().whole)
