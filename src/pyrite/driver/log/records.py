"""The records of a journal: pickles in frames with checksums; each stage is written once."""

from __future__ import annotations

import io
import pickle
import struct
from collections.abc import Iterator
from dataclasses import fields
from operator import attrgetter
from typing import Any
from zlib import crc32

from pyrite.errors import UserError
from pyrite.ids import StageId
from pyrite.plan.program import Shape
from pyrite.plan.stages import StageSpec, new_stages

PROTOCOL = pickle.HIGHEST_PROTOCOL
# A frame is the payload's length and checksum, a check of both, and the payload: a corrupt length
# must not be taken for that of an incomplete record.
_HEAD = struct.Struct("<QIQ")
_SALT = 0x9E3779B97F4A7C15
_NAMES = tuple(each.name for each in fields(StageSpec))
_values = attrgetter(*_NAMES)


class BadJournal(UserError):
    """This Pyrite can't, or should not, restore the journal."""


class StageRecorder:
    """Encodes records; each stage has its own record, before the first one that refers to it.

    A stage refers to its ancestors, which may be thousands: nested pickles would need recursion,
    and each job would write its whole lineage again.
    """

    def __init__(self) -> None:
        self.written: set[StageId] = set()

    def frames(self, value: Any) -> bytes:
        """Encodes the value as a record, after records of the stages that are new in it."""
        file = io.BytesIO()
        pickler = _StagePickler(file)
        pickler.dump(value)
        found = [new for each in pickler.met.values() for new in new_stages(each, self.written)]
        stages = {each.id: each for each in found}
        self.written.update(stages)
        # Parents have the lower ids.
        records = [pickle.dumps(_fields(stages[id]), PROTOCOL) for id in sorted(stages)]
        return b"".join(map(framed, (*records, file.getvalue())))


class _StagePickler(pickle.Pickler):
    """Refers to stages by their ids."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, PROTOCOL)
        self.met: dict[StageId, StageSpec] = {}

    def persistent_id(self, value: Any) -> StageId | None:
        if not isinstance(value, StageSpec):
            return None
        self.met[value.id] = value
        return value.id


class _StageUnpickler(pickle.Unpickler):
    """Resolves stages from the records that were read."""

    def __init__(self, payload: memoryview, stages: dict[StageId, StageSpec]) -> None:
        super().__init__(io.BytesIO(payload))
        self.stages = stages

    def persistent_load(self, id: StageId) -> StageSpec:
        return self.stages[id]


def _fields(stage: StageSpec) -> dict[str, Any]:
    values = dict(zip(_NAMES, _values(stage), strict=True))
    values["shape"] = stage.shape.steps
    values["parents"] = {shuffle: parent.id for shuffle, parent in stage.parents.items()}
    return values


def _stage(values: dict[str, Any], stages: dict[StageId, StageSpec]) -> StageSpec:
    parents = {shuffle: stages[id] for shuffle, id in values["parents"].items()}
    return StageSpec(**{**values, "shape": Shape(values["shape"]), "parents": parents})


def framed(payload: bytes) -> bytes:
    length, check = len(payload), crc32(payload)
    return _HEAD.pack(length, check, length ^ check ^ _SALT) + payload


def read_records(data: memoryview, start: int, path: str) -> Iterator[Any]:
    """Decodes the values from `start` up to the last complete one; resolves their stages.

    A driver that died while writing leaves part of a frame at the end. Any other damage is refused:
    the records after it can't be found.
    """
    stages: dict[StageId, StageSpec] = {}
    for at, payload in _payloads(data, start, path):
        try:
            value = _StageUnpickler(payload, stages).load()
        except Exception as error:
            raise BadJournal(f"{path}: the record at byte {at} can't be read: {error!r}") from error
        if isinstance(value, dict):
            stages[value["id"]] = _stage(value, stages)
        else:
            yield value


def _payloads(data: memoryview, start: int, path: str) -> Iterator[tuple[int, memoryview]]:
    at = start
    while at + _HEAD.size <= len(data):
        length, check, mixed = _HEAD.unpack_from(data, at)
        first = at + _HEAD.size
        if mixed != length ^ check ^ _SALT:
            raise _damaged(path, at)
        payload = data[first : first + length]
        if len(payload) < length:
            return
        if crc32(payload) != check:
            raise _damaged(path, at)
        yield at, payload
        at = first + length


def _damaged(path: str, at: int) -> BadJournal:
    return BadJournal(
        f"{path} is damaged: the record at byte {at} is not what was written. Nothing is restored "
        "from it, since the rest is in doubt; start the application anew"
    )
