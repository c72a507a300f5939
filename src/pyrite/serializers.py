"""PySpark's serializers by name: Pyrite chooses the encoding of rows by itself."""

from __future__ import annotations

import marshal
import pickle
import struct
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, BinaryIO

import cloudpickle

__all__ = [
    "AutoBatchedSerializer",
    "AutoSerializer",
    "BatchedSerializer",
    "CPickleSerializer",
    "CloudPickleSerializer",
    "CompressedSerializer",
    "FramedSerializer",
    "MarshalSerializer",
    "NoOpSerializer",
    "PickleSerializer",
    "Serializer",
    "UTF8Deserializer",
]

LENGTH = struct.Struct("!i")


class Serializer:
    """A way to turn objects into bytes and back.

    ``SparkContext(serializer=...)`` accepts them and does not use them: rows are encoded in
    batches, with marshal where that can hold them and with pickle elsewhere.
    """

    def dumps(self, obj: Any) -> bytes:
        """The object as bytes."""
        raise NotImplementedError

    def loads(self, obj: Any) -> Any:
        """The object that the bytes hold."""
        raise NotImplementedError

    def dump_stream(self, iterator: Iterable[Any], stream: BinaryIO) -> None:
        """Writes objects one after the other."""
        raise NotImplementedError

    def load_stream(self, stream: BinaryIO) -> Iterator[Any]:
        """The objects that `dump_stream` wrote."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class FramedSerializer(Serializer):
    """Writes each object after the number of its bytes."""

    def dump_stream(self, iterator: Iterable[Any], stream: BinaryIO) -> None:
        for each in iterator:
            data = self.dumps(each)
            stream.write(LENGTH.pack(len(data)))
            stream.write(data)

    def load_stream(self, stream: BinaryIO) -> Iterator[Any]:
        return map(self.loads, frames(stream))


class CPickleSerializer(FramedSerializer):
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


class MarshalSerializer(FramedSerializer):
    """Marshal: for plain values only."""

    def dumps(self, obj: Any) -> bytes:
        return marshal.dumps(obj)

    def loads(self, obj: bytes) -> Any:
        return marshal.loads(obj)


class AutoSerializer(FramedSerializer):
    """Marshal where it can hold an object, and pickle elsewhere."""

    def dumps(self, obj: Any) -> bytes:
        try:
            return b"M" + marshal.dumps(obj)
        except ValueError:
            return b"P" + pickle.dumps(obj, pickle.HIGHEST_PROTOCOL)

    def loads(self, obj: bytes) -> Any:
        return marshal.loads(obj[1:]) if obj[:1] == b"M" else pickle.loads(obj[1:])


class NoOpSerializer(FramedSerializer):
    """Bytes as they are."""

    def dumps(self, obj: Any) -> bytes:
        data: bytes = obj
        return data

    def loads(self, obj: bytes) -> bytes:
        return obj


class CompressedSerializer(FramedSerializer):
    """What another serializer makes, compressed."""

    def __init__(self, serializer: FramedSerializer) -> None:
        self.serializer = serializer

    def dumps(self, obj: Any) -> bytes:
        return zlib.compress(self.serializer.dumps(obj), 1)

    def loads(self, obj: bytes) -> Any:
        return self.serializer.loads(zlib.decompress(obj))

    def __repr__(self) -> str:
        return f"CompressedSerializer({self.serializer})"


class BatchedSerializer(Serializer):
    """Writes lists of so many objects with another serializer; -1 makes one list of all.

    >>> import io
    >>> file, serializer = io.BytesIO(), BatchedSerializer(CPickleSerializer(), 2)
    >>> serializer.dump_stream("abc", file)
    >>> _ = file.seek(0)
    >>> list(serializer.load_stream(file))
    ['a', 'b', 'c']
    """

    UNLIMITED_BATCH_SIZE = -1
    UNKNOWN_BATCH_SIZE = 0

    def __init__(self, serializer: Serializer, batchSize: int = UNLIMITED_BATCH_SIZE) -> None:
        self.serializer = serializer
        self.batchSize = batchSize

    def dump_stream(self, iterator: Iterable[Any], stream: BinaryIO) -> None:
        size = None if self.batchSize == self.UNLIMITED_BATCH_SIZE else self.batchSize
        self.serializer.dump_stream(batches(iterator, size), stream)

    def load_stream(self, stream: BinaryIO) -> Iterator[Any]:
        return chain.from_iterable(self.serializer.load_stream(stream))

    def __repr__(self) -> str:
        return f"BatchedSerializer({self.serializer}, {self.batchSize})"


class AutoBatchedSerializer(BatchedSerializer):
    """Writes lists of about so many bytes."""

    def __init__(self, serializer: Serializer, bestSize: int = 1 << 16) -> None:
        super().__init__(serializer, self.UNKNOWN_BATCH_SIZE)
        self.bestSize = bestSize

    def dump_stream(self, iterator: Iterable[Any], stream: BinaryIO) -> None:
        rows, count = iter(iterator), 1
        while batch := list(islice(rows, count)):
            data = self.serializer.dumps(batch)
            stream.write(LENGTH.pack(len(data)))
            stream.write(data)
            if len(data) < self.bestSize:
                count *= 2
            elif len(data) > 10 * self.bestSize:
                count = max(1, count // 2)

    def __repr__(self) -> str:
        return f"AutoBatchedSerializer({self.serializer})"


class UTF8Deserializer(Serializer):
    """Texts, each after the number of its bytes."""

    def __init__(self, use_unicode: bool = True) -> None:
        self.use_unicode = use_unicode

    def loads(self, obj: BinaryIO) -> Any:
        """The next text of a stream."""
        for data in frames(obj):
            return self._decoded(data)
        raise EOFError

    def load_stream(self, stream: BinaryIO) -> Iterator[Any]:
        return map(self._decoded, frames(stream))

    def _decoded(self, data: bytes) -> str | bytes:
        return str(data, "utf-8") if self.use_unicode else data

    def __repr__(self) -> str:
        return f"UTF8Deserializer({self.use_unicode})"


def frames(stream: BinaryIO) -> Iterator[bytes]:
    """The stretches of a stream, each of which begins with its length."""
    while len(head := stream.read(LENGTH.size)) == LENGTH.size:
        size = LENGTH.unpack(head)[0]
        data = stream.read(size)
        if len(data) < size:
            return
        yield data


def batches(rows: Iterable[Any], size: int | None) -> Iterator[list[Any]]:
    """Rows in lists of this size, or in one list."""
    if size is None:
        yield list(rows)
        return
    left = iter(rows)
    while batch := list(islice(left, size)):
        yield batch


PickleSerializer = CPickleSerializer
