"""Read-only values that lie once on each node, however many tasks use them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from pyrite.errors import ReferencedInTask, UserError
from pyrite.ids import BlockRef, BroadcastId, NodeId

if TYPE_CHECKING:
    from pyrite.context import SparkContext

T = TypeVar("T")


class Broadcast(Generic[T]):
    """A value sent once to each node; tasks read it through `value`.

    >>> names = sc.broadcast({1: "one", 2: "two"})
    >>> sc.parallelize([2, 1]).map(lambda n: names.value[n]).collect()
    ['two', 'one']
    """

    # Set in executors: reads a broadcast's block and decodes it.
    _load: ClassVar[Callable[[BlockRef], list[Any]] | None] = None
    _loaded: ClassVar[dict[BroadcastId, tuple[str, Any]]] = {}

    def __init__(
        self, sc: SparkContext, id: BroadcastId, name: str, value: T, ref: BlockRef
    ) -> None:
        self._sc: SparkContext | None = sc
        self._id = id
        # Ids and blocks of another application may be the same; this is not.
        self._name = name
        self._value = value
        self._ref = ref
        self._destroyed = False
        # Set by the context: frees the block, at the latest when this object goes.
        self._free: Callable[[], Any] | None = None

    @property
    def id(self) -> int:
        """A number that is unique within the context."""
        return self._id

    @property
    def value(self) -> T:
        """The value, read-only by convention."""
        if self._destroyed:
            raise UserError(f"broadcast {self._id} was destroyed and can't be used any more")
        return self._value

    def unpersist(self, blocking: bool = False) -> None:
        """Lets executors forget their copy; tasks that need it again read it again."""
        self._driver("unpersist")._drop_broadcast(self._id)

    def destroy(self, blocking: bool = False) -> None:
        """Frees the value everywhere; it can't be used after this."""
        sc = self._driver("destroy")
        if self._destroyed:
            return
        self._destroyed = True
        sc._drop_broadcast(self._id)
        if self._free is not None:
            self._free()

    def _driver(self, what: str) -> SparkContext:
        if self._sc is None:
            raise UserError(f"Broadcast can only be {what}ed in driver")
        if self._destroyed and what != "destroy":
            raise UserError(f"broadcast {self._id} was destroyed and can't be used any more")
        return self._sc

    def __reduce__(self) -> Any:
        if self._destroyed:
            raise ReferencedInTask(
                f"broadcast {self._id}, which was destroyed,",
                "Broadcast the value again, and destroy() it after the last job that needs it.",
            )
        if self._sc is not None and (ending := self._sc._ending()):
            raise ReferencedInTask(
                f"broadcast {self._id} of {self._sc._described()}, which {ending},",
                "Broadcast its value again, with the context whose tasks are to use it.",
            )
        return RemoteBroadcast, (self._id, self._name, tuple(self._ref))


class RemoteBroadcast(Broadcast[T]):
    """A broadcast as a task sees it: decoded when it is first read, once per executor."""

    def __init__(self, id: BroadcastId, name: str, ref: tuple[NodeId, str, int, int]) -> None:
        self._sc = None
        self._id = id
        self._name = name
        self._ref = BlockRef(*ref)
        self._destroyed = False

    @property
    def value(self) -> T:
        name, value = Broadcast._loaded.get(self._id, ("", None))
        if name != self._name:
            value = self._read()
            Broadcast._loaded[self._id] = self._name, value
        found: T = value
        return found

    def _read(self) -> T:
        if Broadcast._load is None:
            raise UserError(
                f"this copy of broadcast {self._id} was made for tasks: use what sc.broadcast gave"
            )
        value, *name = Broadcast._load(self._ref)
        if not all(isinstance(each, str) for each in name) or name != [self._name]:
            raise UserError(
                f"broadcast {self._id} belongs to another application: broadcast its value again"
            )
        found: T = value
        return found
