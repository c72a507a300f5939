"""Results under a name that other programs reuse: the context's part of it."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pyrite.driver.engine.engine import Engine
from pyrite.errors import UserError
from pyrite.rdd.partitioner import Partitioner
from pyrite.rdd.rdd import RDD
from pyrite.rdd.sources import EachSplit, Files
from pyrite.settings import Settings

if TYPE_CHECKING:
    from pyrite.context import SparkContext
    from pyrite.driver.start.ownring import OwnRing
    from pyrite.driver.tags.tagstore import Manifest, Tag, TagStore

T = TypeVar("T")


class TagMethods:
    """The part of a context that keeps results in its ring."""

    _engine: Engine
    # The name of the context's ring; empty without one.
    _ring: str = ""
    _own_ring: OwnRing | None = None
    _tag_store: TagStore | None = None

    def _enter_ring(self, settings: Settings, nodes: int) -> None:
        self._ring = settings.str("pyrite.ring")
        if self._ring == "own":
            from pyrite.driver.start.ownring import OwnRing

            self._own_ring = OwnRing(nodes, settings.str("spark.local.dir"))
            self._ring = self._own_ring.name

    def _leave_ring(self) -> None:
        if self._own_ring is not None:
            self._own_ring.close()

    def _ring_folder(self) -> str:
        """Where checkpoints go, unless the user says otherwise; empty without a ring."""
        return f"dht://{self._ring}/checkpoints" if self._ring else ""

    def _context(self) -> SparkContext:
        return self  # type: ignore[return-value]

    def tagged(self, name: str) -> RDD[Any]:
        """The rows that `rdd.tag(name)` has kept, in this program or in another."""
        store = self._tags_in_ring()
        found = store.find(name)
        rdd = None if found is None else self._reading(store, found, None)
        if rdd is None:
            raise self._unknown(store, name)
        return rdd

    def tags(self) -> list[Tag]:
        """The tags in the context's ring."""
        from pyrite.driver.tags.tagstore import Tag

        now_s = time.time()
        return [
            Tag(each.name, each.bytes, max(0.0, now_s - each.made_s), each.partitions)
            for each in self._tags_in_ring().all()
        ]

    def untag(self, name: str) -> None:
        """Removes what was kept under a name."""
        store = self._tags_in_ring()
        if store.find(name) is None:
            raise self._unknown(store, name)
        store.remove(name)

    def _tag(self, rdd: RDD[T], name: str, ttl_s: float | None, copies: int) -> RDD[T]:
        from pyrite.driver.tags.tagstore import Manifest

        store = self._tags_in_ring()
        fingerprint = self._fingerprint(rdd, name)
        known = store.find(name)
        if known is not None and fingerprint and known.fingerprint == fingerprint:
            reading = self._reading(store, known, rdd.partitioner)
            if reading is not None:
                return reading
        run = store.begin(name)
        try:
            write = partial(write_part, store.ring, run, copies)
            sizes: list[int] = rdd.mapPartitionsWithIndex(write).collect()
            manifest = Manifest(
                name, fingerprint, run, len(sizes), sum(sizes), time.time(), ttl_s, copies
            )
            store.finish(manifest)
        except BaseException:
            store.discard(run)
            raise
        made = self._reading(store, manifest, rdd.partitioner)
        if made is None:
            raise UserError(f"{name!r} was replaced or removed while it was tagged: tag it again")
        return made

    def _fingerprint(self, rdd: RDD[Any], name: str) -> str:
        """What the RDD is made of; empty if that can't be read."""
        from pyrite.driver.tags.fingerprint import fingerprint
        from pyrite.driver.tags.valuedigest import Unreadable

        try:
            return fingerprint(self._engine.freezer.copy(rdd), self._engine.cluster.read)
        except Unreadable as error:
            logging.getLogger("pyrite").warning(
                "%r is computed, and will not be reused: its functions use %s", name, error
            )
            return ""

    def _reading(
        self, store: TagStore, manifest: Manifest, partitioner: Partitioner | None
    ) -> RDD[Any] | None:
        from pyrite.io.pickles import read_rows

        splits = store.splits(manifest)
        if splits is None:
            return None
        op = Files("tagged", lambda: splits, EachSplit(read_rows))
        rdd: RDD[Any] = RDD(self._context(), op, partitioner=partitioner)
        return rdd.setName(manifest.name)

    def _tags_in_ring(self) -> TagStore:
        from pyrite.driver.tags.tagstore import TagStore

        self._engine.check_usable()
        if self._tag_store is None:
            if not self._ring:
                raise UserError(
                    "tags are kept in a ring: name one with pyrite.ring, or set it to own"
                )
            self._tag_store = TagStore(self._ring)
        return self._tag_store

    @staticmethod
    def _unknown(store: TagStore, name: str) -> UserError:
        from pyrite.driver.tags.tagstore import near_names

        known = [each.name for each in store.all()]
        hint = near_names(name, known) or "; sc.tags() lists those that there are"
        return UserError(f"nothing is tagged {name!r} in the ring {store.ring}{hint}")


def write_part(ring: str, run: str, copies: int, index: int, rows: Iterator[Any]) -> Iterator[int]:
    """Writes a partition in a task; another attempt writes the same rows."""
    from pyrite.driver.tags.tagstore import TagStore

    yield TagStore(ring).write(run, index, copies, rows)
