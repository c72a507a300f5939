"""The code of a story: what `pyrite replay` needs to run its tasks again.

Each thing is written once, as a blob; one that is larger than the limit is only named.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from pyrite.broadcast import Broadcast
from pyrite.ids import BlockRef, JobId
from pyrite.plan.program import Program
from pyrite.plan.stages import StageSpec
from pyrite.rdd.op import Sliced
from pyrite.rdd.sources import Files, Slices
from pyrite.story.records import BroadcastTold, FileTold, InputsTold, Record, StageCode
from pyrite.story.write import StoryWriter

# So many files of a stage are told.
MOST_FILES = 10_000


class Surroundings(NamedTuple):
    """What all tasks of a job share: the local properties and the folders of modules."""

    properties: Mapping[str, str]
    python_paths: tuple[str, ...]


class CodeTeller:
    """Writes functions, slices, broadcasts and added files as blobs, each once."""

    def __init__(
        self,
        writer: StoryWriter,
        limit_bytes: int,
        surroundings: Callable[[JobId], Surroundings],
        read: Callable[[BlockRef], bytes | None],
        files_folder: Callable[[], str],
    ) -> None:
        self.writer = writer
        self.limit_bytes = limit_bytes
        self.surroundings = surroundings
        # The bytes of a block; None where they do not lie with the driver.
        self.read = read
        self.files_folder = files_folder
        self._links: dict[bytes, int] = {}
        # By identity, while they live: whole partitions must not be compared.
        self._slices: weakref.WeakKeyDictionary[Sliced, int | None] = weakref.WeakKeyDictionary()
        self._broadcasts: set[str] = set()
        self._files: dict[str, tuple[int, int]] = {}

    def stage(
        self, at_s: float, job: JobId, stage: StageSpec, program: Program | None
    ) -> list[Record]:
        """The code of a stage, after the broadcasts and files that its tasks may read."""
        if program is None:
            return []
        told: list[Record] = [*self._new_files(at_s)]
        broadcasts = []
        for each in program.broadcasts:
            broadcasts.append(int(each._id))
            if each._name not in self._broadcasts:
                self._broadcasts.add(each._name)
                told.append(self._broadcast(at_s, each))
        if files := self._inputs(program):
            told.append(InputsTold(at_s, stage.id, files))
        slices, missing = self._all_slices(program)
        about = self.surroundings(job)
        told.append(
            StageCode(
                at_s,
                stage.id,
                self.writer.add_blob(pickle.dumps(program.layout)),
                [self._link(each) for each in program.links],
                slices,
                broadcasts,
                about.python_paths,
                dict(about.properties),
                missing,
            )
        )
        return told

    def _link(self, pickled: bytes) -> int:
        digest = hashlib.sha256(pickled).digest()
        if digest not in self._links:
            self._links[digest] = self.writer.add_blob(pickled)
        return self._links[digest]

    def _all_slices(self, program: Program) -> tuple[list[dict[str, int]], list[str]]:
        found: list[dict[str, int]] = []
        missing: list[str] = []
        for ops in program.sliced.values():
            for link, number, op in ops:
                if op not in self._slices:
                    self._slices[op] = self._write_slices(op)
                blob = self._slices[op]
                if blob is None:
                    missing.append(f"the partitions of {op.name}")
                else:
                    found.append({"link": link, "number": number, "blob": blob})
        return found, missing

    def _inputs(self, program: Program) -> list[dict[str, Any]]:
        """The files that a stage reads, as they are now."""
        paths: dict[str, int | None] = {}
        for ops in program.sliced.values():
            for _, _, op in ops:
                if isinstance(op, Files):
                    for _, splits in _numbered(op.slices):
                        paths.update((split.path, split.file_bytes) for split in splits)
        return [file_told(path, size) for path, size in list(paths.items())[:MOST_FILES]]

    def _write_slices(self, op: Sliced) -> int | None:
        """The pickled slices by index; None where they are too large, or not here."""
        pickled: dict[int, bytes] = {}
        left = self.limit_bytes
        for index, each in _numbered(op.slices):
            found = self._inline(each, left) if isinstance(op, Slices) else each
            if found is None:
                return None
            pickled[index] = pickle.dumps(found)
            left -= len(pickled[index])
            if left < 0:
                return None
        return self.writer.add_blob(pickle.dumps(pickled))

    def _inline(self, rows: bytes | tuple[BlockRef, ...], limit_bytes: int) -> bytes | None:
        """The encoded rows themselves, in place of where they lie."""
        if isinstance(rows, bytes):
            return rows
        if sum(ref.length for ref in rows) > limit_bytes:
            return None
        found = [self.read(ref) for ref in rows]
        return None if None in found else b"".join(each for each in found if each is not None)

    def _broadcast(self, at_s: float, broadcast: Broadcast[Any]) -> BroadcastTold:
        ref = broadcast._ref
        found = self.read(ref) if ref.length <= self.limit_bytes else None
        blob = None if found is None else self.writer.add_blob(found)
        return BroadcastTold(at_s, int(broadcast._id), broadcast._name, ref.length, blob)

    def _new_files(self, at_s: float) -> Iterator[FileTold]:
        """The files that were added, or replaced, since the last stage."""
        root = self.files_folder()
        for folder, _, names in os.walk(root):
            for name in sorted(names):
                # The user's thread may replace it meanwhile: then it is told with the next stage.
                with suppress(OSError):
                    if (told := self._new_file(at_s, root, os.path.join(folder, name))) is not None:
                        yield told

    def _new_file(self, at_s: float, root: str, path: str) -> FileTold | None:
        status = os.stat(path)
        seen = status.st_size, status.st_mtime_ns
        if self._files.get(path) == seen:
            return None
        blob = None
        if status.st_size <= self.limit_bytes:
            with open(path, "rb") as file:
                blob = self.writer.add_blob(file.read())
        self._files[path] = seen
        return FileTold(at_s, os.path.relpath(path, root), status.st_size, blob)


def file_told(path: str, size: int | None) -> dict[str, Any]:
    """A file with its size and the time of its last change, where they can be known at once."""
    local = path.removeprefix("file://")
    try:
        status = os.stat(local)
    except OSError:
        return {"path": path, "bytes": size, "changed_s": None}
    return {"path": path, "bytes": status.st_size, "changed_s": status.st_mtime}


def _numbered(slices: Any) -> Iterator[tuple[int, Any]]:
    yield from slices.items() if isinstance(slices, Mapping) else enumerate(slices)
