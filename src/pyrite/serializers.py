"""PySpark's serializers by name: Pyrite chooses the encoding of rows by itself."""

from __future__ import annotations

import marshal
import pickle
from typing import Any

import cloudpickle


class Serializer:
    """A way to turn one object into bytes and back.

    ``SparkContext(serializer=...)`` accepts them and does not use them: rows are encoded in
    batches, with marshal where that can hold them and with pickle elsewhere.
    """

    def dumps(self, obj: Any) -> bytes:
        """The object as bytes."""
        raise NotImplementedError

    def loads(self, obj: bytes) -> Any:
        """The object that the bytes hold."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class CPickleSerializer(Serializer):
    """Pickle.

    >>> CPickleSerializer().loads(CPickleSerializer().dumps({"a": 1}))
    {'a': 1}
    """

    def dumps(self, obj: Any) -> bytes:
        return pickle.dumps(obj, pickle.HIGHEST_PROTOCOL)

    def loads(self, obj: bytes) -> Any:
        return pickle.loads(obj)


class CloudPickleSerializer(CPickleSerializer):
    """Pickle that holds functions and classes of the running program too."""

    def dumps(self, obj: Any) -> bytes:
        pickled: bytes = cloudpickle.dumps(obj)
        return pickled


class MarshalSerializer(Serializer):
    """Marshal: for plain values only."""

    def dumps(self, obj: Any) -> bytes:
        return marshal.dumps(obj)

    def loads(self, obj: bytes) -> Any:
        return marshal.loads(obj)


PickleSerializer = CPickleSerializer

__all__ = [
    "CPickleSerializer",
    "CloudPickleSerializer",
    "MarshalSerializer",
    "PickleSerializer",
    "Serializer",
]
