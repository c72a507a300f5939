"""Tagged results in a ring: a manifest for each name, and a file for each partition."""

from __future__ import annotations

import contextlib
import json
import time
import uuid
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from pyrite.io.pickles import write_stream
from pyrite.io.splits import Split

FOLDER = "/tags"


class Tag(NamedTuple):
    """A tagged result, as `sc.tags()` shows it."""

    name: str
    bytes: int
    age_s: float
    partitions: int


class Manifest(NamedTuple):
    """What is known of a tagged result."""

    name: str
    # Empty where nobody can tell what it was made of.
    fingerprint: str
    run: str
    partitions: int
    bytes: int
    made_s: float
    ttl_s: float | None
    copies: int

    def is_over(self, now_s: float) -> bool:
        return self.ttl_s is not None and now_s > self.made_s + self.ttl_s


class TagStore:
    """Reads and writes tags in a ring.

    A manifest appears when all partitions are there, and replaces the one before by one write.
    """

    def __init__(self, ring: str) -> None:
        from pyrite.dht.filesystem import RingFileSystem

        self.ring = ring
        self.fs: Any = RingFileSystem(ring=ring)

    def find(self, name: str) -> Manifest | None:
        """The tag of a name, unless its time is over."""
        try:
            told = json.loads(self.fs.cat_file(self._manifest(name)))
        except FileNotFoundError:
            return None
        found = Manifest(**told)
        return None if found.is_over(time.time()) else found

    def all(self) -> list[Manifest]:
        """All tags; removes those whose time is over."""
        found = []
        for path in self.fs.find(FOLDER):
            folder, _, file = path.rpartition("/")
            if file != "manifest":
                continue
            name = unquote(folder.rpartition("/")[2])
            manifest = self.find(name)
            if manifest is not None:
                found.append(manifest)
            else:
                self.remove(name)
        return found

    def begin(self, name: str) -> str:
        """A new run of a tag: where its partitions go."""
        run = f"{self._folder(name)}/{uuid.uuid4().hex}"
        self.fs.touch(_wanted(run))
        return run

    def write(self, run: str, index: int, copies: int, rows: Iterable[Any]) -> int:
        """Writes a partition of a run, in a task also into memory (EclipseMR, oCache); returns its
        bytes. A late task does not bring back a run that was discarded."""
        path = part_path(run, index)
        options = {"copies": copies, "create_parents": False, "keep": True}
        with self.fs.open(path, "wb", **options) as file:
            write_stream(file, rows)
            size: int = file.tell()
        if not self.fs.exists(_wanted(run)):
            with contextlib.suppress(FileNotFoundError):
                self.fs.rm_file(path)
            raise FileNotFoundError(run)
        return size

    def finish(self, manifest: Manifest) -> None:
        """Makes a run the one that others see, and removes the one that it replaces."""
        before = self.find(manifest.name)
        with self.fs.open(self._manifest(manifest.name), "wb") as file:
            file.write(json.dumps(manifest._asdict()).encode())
        if before is not None:
            self.discard(before.run)

    def discard(self, run: str) -> None:
        """Removes a run with its partitions."""
        # First, so that a partition is either there by now, or finds this gone.
        with contextlib.suppress(FileNotFoundError):
            self.fs.rm_file(_wanted(run))
        self._remove(run)

    def remove(self, name: str) -> None:
        for path in self.fs.find(self._folder(name)):
            if path == _wanted(path.rpartition("/")[0]):
                self.fs.rm_file(path)
        self._remove(self._folder(name))

    def _remove(self, folder: str) -> None:
        if self.fs.exists(folder):
            self.fs.rm(folder, recursive=True)

    def splits(self, manifest: Manifest) -> list[list[Split]] | None:
        """The partitions of a tag; None if one is missing."""
        found = self.fs.find(manifest.run, detail=True)
        parts = [found.get(part_path(manifest.run, index)) for index in range(manifest.partitions)]
        if any(part is None for part in parts) or not self._is_held(manifest):
            return None
        return [[self._split(part)] for part in parts if part is not None]

    def _split(self, part: dict[str, Any]) -> Split:
        key = next(iter(part["block_keys"]), None)
        return Split(f"dht://{self.ring}{part['name']}", 0, part["size"], key=key)

    def _is_held(self, manifest: Manifest) -> bool:
        """Whether the members that hold the partitions are there: one copy may go with one."""
        if manifest.copies > 1:
            return True
        client = self.fs.client
        for index in range(manifest.partitions):
            file = self.fs.file_at(part_path(manifest.run, index))
            for block in file.blocks:
                if not any(is_good for _, is_good in client.check(block, repairs=False)):
                    return False
        return True

    def _folder(self, name: str) -> str:
        return f"{FOLDER}/{quote(name, safe='')}"

    def _manifest(self, name: str) -> str:
        return f"{self._folder(name)}/manifest"


def _wanted(run: str) -> str:
    """The file that says that a run is not discarded."""
    return f"{run}/wanted"


def part_path(run: str, index: int) -> str:
    """Where a partition of a run lies in its ring."""
    return f"{run}/part-{index:05d}"


def near_names(name: str, known: Sequence[str]) -> str:
    """A hint at what a name that is unknown may have meant."""
    import difflib

    near = difflib.get_close_matches(name, known, n=3)
    return f"; did you mean {', '.join(map(repr, near))}?" if near else ""
