"""Parts of other nodes' map outputs that reducers of one task read one after another."""

from __future__ import annotations

from collections.abc import Iterable

from pyrite.ids import BlockRef


class PartsTogether:
    """Selections of map outputs that hold the parts of several reducers.

    Requesting a part of few bytes costs far more than reading it: so the first reducer of a task
    brings the others' parts along, and they find them here. Nothing is held beyond the task.
    """

    def __init__(self, parts: Iterable[int]) -> None:
        # In the order in which they are read, which need not ascend.
        self.parts = tuple(dict.fromkeys(parts))
        self.held: dict[BlockRef, memoryview] = {}
        self.held_bytes = 0

    def wanted_with(self, part: int) -> tuple[int, ...]:
        """Returns the parts to request where this one is needed, ascending: its own, and all that
        are read after it."""
        if part not in self.parts:
            return (part,)
        return tuple(sorted(self.parts[self.parts.index(part) :]))

    def hold(self, ref: BlockRef, selection: memoryview) -> None:
        self.held[ref] = selection
        self.held_bytes += len(selection)
