"""A heavy reducer's work in pieces, and what they have made so far."""

from __future__ import annotations

from dataclasses import dataclass

from pyrite.ids import BlockRef, PieceId
from pyrite.schedule.events import TaskOutput


@dataclass(slots=True, eq=False)
class Piece:
    """What a reducer makes of the outputs of some maps: from the first on, before the last."""

    first: int
    last: int
    made: TaskOutput | None = None


@dataclass(slots=True, eq=False)
class DividedReducer:
    """A reducer whose work is done in pieces."""

    pieces: dict[PieceId, Piece]

    @property
    def done(self) -> bool:
        return all(piece.made is not None for piece in self.pieces.values())

    def blocks(self) -> list[BlockRef]:
        """What the pieces have made, in the order of the maps."""
        made = [piece.made for piece in self.pieces.values() if piece.made is not None]
        return [ref for each in made for ref in each.blocks()]
