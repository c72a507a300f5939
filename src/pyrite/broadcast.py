"""Read-only values that lie once on each node, however many tasks use them."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Generic, TypeVar

from pyrite.errors import BroadcastDestroyed, ReferencedInTask, UserError
from pyrite.ids import BlockRef, BroadcastId, Medium, NodeId

if TYPE_CHECKING:
    from pyrite.context import SparkContext

T = TypeVar("T")


class Capturing(threading.local):
    """The broadcasts that this thread has pickled since it began to watch for them."""

    found: list[Broadcast[Any]] | None = None


_capturing = Capturing()


@contextmanager
def captured() -> Iterator[list[Broadcast[Any]]]:
    """The broadcasts that are pickled meanwhile: whoever keeps the bytes has to hold them."""
    outer = _capturing.found
    found: list[Broadcast[Any]] = []
    _capturing.found = found
    try:
        yield found
    finally:
        _capturing.found = outer


class Broadcast(Generic[T]):
    """A value sent once to each node; tasks read it through `value`.

    Large arrays in it lie in shared memory once, however many executors the node has. So they
    are read-only in tasks; all else is a copy of the executor's own.

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
            raise BroadcastDestroyed(self._id)
        return self._value

    def dump(self, value: T, f: BinaryIO) -> None:
        """Pickles a value into an open file and closes it."""
        try:
            pickle.dump(value, f, pickle.HIGHEST_PROTOCOL)
        except pickle.PickleError:
            raise
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise pickle.PicklingError(f"Could not serialize broadcast: {reason}") from error
        f.close()

    def load(self, file: BinaryIO) -> T:
        """The value that `dump` pickled into a file."""
        value: T = pickle.load(file)
        return value

    def load_from_path(self, path: str) -> T:
        """As `load`, from the file at a path.

        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "value")
        >>> held = sc.broadcast([1, 2])
        >>> held.dump(held.value, path.open("wb"))
        >>> held.load_from_path(str(path))
        [1, 2]
        """
        with open(path, "rb") as file:
            return self.load(file)

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
            raise BroadcastDestroyed(self._id)
        return self._sc

    def _require_usable(self) -> None:
        if self._destroyed:
            raise BroadcastDestroyed(self._id)
        if self._sc is not None and (ending := self._sc._ending()):
            raise ReferencedInTask(
                f"broadcast {self._id} of {self._sc._described()}, which {ending},",
                "Broadcast its value again, with the context whose tasks are to use it.",
            )

    def __reduce__(self) -> Any:
        self._require_usable()
        if _capturing.found is not None:
            _capturing.found.append(self)
        return RemoteBroadcast, (self._id, self._name, tuple(self._ref))


class RemoteBroadcast(Broadcast[T]):
    """A broadcast as a task sees it: decoded when it is first read, once per executor."""

    def __init__(
        self, id: BroadcastId, name: str, ref: tuple[NodeId, str, int, int, Medium]
    ) -> None:
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
