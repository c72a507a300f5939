"""Results under a name that other programs reuse: the RDD's part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pyrite.errors import BadValue
from pyrite.rdd.arguments import require_text
from pyrite.rdd.base import Lineage

if TYPE_CHECKING:
    from pyrite.rdd.rdd import RDD

T = TypeVar("T")


class Tagging(Lineage[T]):
    """Keeping an RDD's rows in the context's ring."""

    def tag(self, name: str, ttl: float | None = None, copies: int = 3) -> RDD[T]:
        """Keeps the rows under a name, and returns the RDD that reads them.

        If the ring has them already, of the same fingerprint, nothing is computed: the fingerprint
        covers the lineage with its functions, what they captured and call, the globals that they
        read, the versions of input files, and the partitions. Otherwise this is an action, which
        replaces what had the name. They are forgotten after `ttl` seconds.
        """
        require_text("name", name)
        if not name:
            raise BadValue("a tag needs a name")
        if ttl is not None and ttl <= 0:
            raise BadValue(f"ttl is in seconds, more than 0: not {ttl}")
        if copies not in (1, 2, 3):
            raise BadValue(f"copies is 1, 2 or 3: not {copies}")
        return self.ctx._tag(self._me(), name, ttl, copies)
