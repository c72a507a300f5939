"""An executor's limits."""

from __future__ import annotations

from typing import NamedTuple

from pyrite.blocks.codec import MOST_ROWS
from pyrite.blocks.writer import SEGMENT_BYTES
from pyrite.machine.chain import Mode

# Shares of the limit: of the rows that are encoded at once, and of the blocks that they become.
CHUNKS_PER_LIMIT = 16
PIECES_PER_LIMIT = 16


class WorkerLimits(NamedTuple):
    """An executor's limits; above `spill_bytes` its tasks spill rows to disk."""

    memory_bytes: int
    spill_bytes: int
    storage_bytes: int
    protected_bytes: int
    inline_bytes: int
    # How many kept rows, or rows of a result, are encoded at a time.
    batch_rows: int = MOST_ROWS
    segment_bytes: int = SEGMENT_BYTES
    # Map outputs of at least so many bytes report the sizes of their parts; None: none do.
    size_report_bytes: int | None = None
    # A block server that does not answer for so long is lost.
    network_timeout_s: float = 120.0
    # How the row machine is used.
    machine: Mode = "TRUE"
    # How many times a second the stacks of its tasks are sampled; 0: never.
    profile_hertz: float = 0.0

    @property
    def chunk_bytes(self) -> int:
        """The most memory of rows that are encoded at once."""
        return self.spill_bytes // CHUNKS_PER_LIMIT

    @property
    def piece_bytes(self) -> int:
        """The size of the blocks of partitions and results that are not written whole: one waits
        for room while the next is filled."""
        return max(1, min(self.segment_bytes, self.spill_bytes // PIECES_PER_LIMIT))
