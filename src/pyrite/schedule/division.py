"""The pieces of a divided reducer, and what they have made so far."""

from __future__ import annotations

from dataclasses import dataclass

from pyrite.ids import BlockRef, PieceId
from pyrite.schedule.events import TaskOutput


@dataclass(slots=True, eq=False)
class Piece:
    """One piece: the reducer's work on the outputs of maps `first` to `last`, exclusive."""

    first: int
    last: int
    made: TaskOutput | None = None


@dataclass(slots=True, eq=False)
class DividedReducer:
    """A reducer that runs in pieces."""

    pieces: dict[PieceId, Piece]

    @property
    def done(self) -> bool:
        return all(piece.made is not None for piece in self.pieces.values())

    def blocks(self) -> list[BlockRef]:
        """Returns the pieces' blocks, in the order of the maps."""
        made = [piece.made for piece in self.pieces.values() if piece.made is not None]
        return [ref for each in made for ref in each.blocks()]
