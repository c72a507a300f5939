"""The records of a journal: pickles in checked frames, in which each stage is told once."""

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
# A frame is its payload's length and checksum, both of them mixed as a check, and the payload: a
# spoilt length must not be taken for that of a record which was not written to its end.
_HEAD = struct.Struct("<QIQ")
_SALT = 0x9E3779B97F4A7C15
_NAMES = tuple(each.name for each in fields(StageSpec))
_values = attrgetter(*_NAMES)


class BadJournal(UserError):
    """A journal that this Pyrite can't, or should not, go on from."""


class StageTeller:
    """Makes records; a stage goes into one of its own, before the first that refers to it.

    A stage refers to those behind it, which may be thousands: nested, they would not be pickled
    without recursion, and each job would tell all of its past again.
    """

    def __init__(self) -> None:
        self.told: set[StageId] = set()

    def frames(self, value: Any) -> bytes:
        """The value as a record, after the stages that are new in it."""
        file = io.BytesIO()
        pickler = _StagePickler(file)
        pickler.dump(value)
        found = [new for each in pickler.met.values() for new in new_stages(each, self.told)]
        stages = {each.id: each for each in found}
        self.told.update(stages)
        # Parents have the lower ids.
        told = [pickle.dumps(_fields(stages[id]), PROTOCOL) for id in sorted(stages)]
        return b"".join(map(framed, (*told, file.getvalue())))


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
    """Takes stages from those that have been told."""

    def __init__(self, payload: memoryview, stages: dict[StageId, StageSpec]) -> None:
        super().__init__(io.BytesIO(payload))
        self.stages = stages

    def persistent_load(self, id: StageId) -> StageSpec:
        return self.stages[id]


def _fields(stage: StageSpec) -> dict[str, Any]:
    told = dict(zip(_NAMES, _values(stage), strict=True))
    told["shape"] = stage.shape.steps
    told["parents"] = {shuffle: parent.id for shuffle, parent in stage.parents.items()}
    return told


def _stage(told: dict[str, Any], stages: dict[StageId, StageSpec]) -> StageSpec:
    parents = {shuffle: stages[id] for shuffle, id in told["parents"].items()}
    return StageSpec(**{**told, "shape": Shape(told["shape"]), "parents": parents})


def framed(payload: bytes) -> bytes:
    length, check = len(payload), crc32(payload)
    return _HEAD.pack(length, check, length ^ check ^ _SALT) + payload


def read_records(data: memoryview, start: int, path: str) -> Iterator[Any]:
    """The values from this place on, up to the last that is whole; their stages are not given.

    Who died while it wrote has left a part of a frame at the end. Anything else that is not as it
    was written is refused: what follows it can't be told apart from it.
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
            raise _spoilt(path, at)
        payload = data[first : first + length]
        if len(payload) < length:
            return
        if crc32(payload) != check:
            raise _spoilt(path, at)
        yield at, payload
        at = first + length


def _spoilt(path: str, at: int) -> BadJournal:
    return BadJournal(
        f"{path} is damaged: the record at byte {at} is not what was written. Nothing is restored "
        "from it, since what follows is in doubt; start the application anew"
    )
