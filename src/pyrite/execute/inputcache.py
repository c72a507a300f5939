"""Blocks of a ring in the nodes' pools: those that the running task reads (EclipseMR, iCache), and
those that it writes for others to read (oCache)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyrite.blocks.segments import SegmentReader
from pyrite.blocks.writer import SegmentWriter
from pyrite.ids import BlockRef
from pyrite.probe import probe

# A block's key, and where a pool has it.
Known = tuple[int, BlockRef | None]


class InputCache:
    """Finds blocks where the driver said that they are, and leaves others in the pool."""

    def __init__(self, reader: SegmentReader, writer: SegmentWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._refs: dict[int, BlockRef | None] = {}
        self._views: dict[int, memoryview] = {}
        self._checked: set[tuple[int, int]] = set()
        self._refused: set[int] = set()
        self._report: list[tuple[int, BlockRef, bool]] = []
        self._written: list[tuple[int, BlockRef, bool]] = []

    def start_task(self, known: Sequence[Known]) -> None:
        self._refs = dict(known)
        self._views.clear()
        self._checked.clear()
        self._refused.clear()

    def take_report(self, has_succeeded: bool) -> list[tuple[int, tuple[object, ...], bool]]:
        """Returns what was stored, and what was lost, since the last report. What a failed task has
        written is not told, and the driver frees it."""
        report = [*self._report, *(self._written if has_succeeded else ())]
        self._report, self._written = [], []
        self._views.clear()
        return [(key, tuple(ref), is_lost) for key, ref, is_lost in report]

    def wants(self, key: int) -> bool:
        return key in self._refs and key not in self._refused

    def find(self, key: int) -> memoryview | None:
        found = self._views.get(key)
        ref = self._refs.get(key)
        if found is not None or ref is None:
            return found
        try:
            found = self.reader.view(ref)
        except OSError:
            probe("cached input can't be read")
            self.lose(key)
            return None
        if ref.node != self.writer.folders.node:
            # From a neighbour: the next task finds it here.
            found = self._take_over(key, found)
        self._views[key] = found
        return found

    def fill(self, key: int, length: int, read: Callable[[memoryview], None]) -> memoryview | None:
        room = self.writer.open_input(length)
        if room is None:
            probe("there is no room for input")
            self._refused.add(key)
            return None
        ref, view = room
        read(view)
        self._report.append((key, ref, False))
        self._views[key] = view.toreadonly()
        return self._views[key]

    def keep(self, key: int, data: memoryview) -> None:
        ref = self.writer.write_input(key, data)
        if ref is not None:
            self._written.append((key, ref, False))

    def lose(self, key: int) -> None:
        ref = self._refs.get(key)
        if ref is not None:
            self._report.append((key, ref, True))
        self._refs[key] = None
        self._views.pop(key, None)

    def is_checked(self, key: int, chunk: int) -> bool:
        is_known = (key, chunk) in self._checked
        self._checked.add((key, chunk))
        return is_known

    def _take_over(self, key: int, found: memoryview) -> memoryview:
        def copy(target: memoryview) -> None:
            target[:] = found

        return self.fill(key, len(found), copy) or found
