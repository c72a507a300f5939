"""Writes frames as blocks while more of them are made, so that rows need not fit in memory."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from pyrite.blocks.codec import Buffer, detached, frame_size
from pyrite.blocks.writer import SegmentWriter, Want
from pyrite.errors import ClusterError
from pyrite.ids import BlockRef, NodeId, RddId
from pyrite.probe import probe
from pyrite.storagelevel import StorageLevel


class Granted(NamedTuple):
    """The answer to a request for room: the node that has it, or None."""

    place: NodeId | None


class RoomRequests(Protocol):
    """Requests for room that are answered while the task goes on."""

    def ask(self, want: Want) -> None: ...

    def answer(self, want: Want, wait: bool) -> Granted | None:
        """Returns the answer; None where there is none yet and the task does not wait."""


class ResultStream:
    """The frames of a task's result: small ones travel inline, others lie in blocks."""

    def __init__(self, writer: SegmentWriter, inline_bytes: int, piece_bytes: int) -> None:
        self._writer = writer
        self._inline_bytes = inline_bytes
        self._piece_bytes = piece_bytes
        self._frames: list[Buffer] = []
        self._size = 0
        self._blocks: list[BlockRef] = []

    def append(self, frame: list[Buffer]) -> None:
        self._frames += detached(frame)
        self._size += frame_size(frame)
        if self._size >= self._piece_bytes:
            self._write()

    def finish(self) -> bytes | tuple[BlockRef, ...]:
        """Returns the frames themselves, or the blocks in which they lie."""
        if not self._blocks and self._size <= self._inline_bytes:
            return b"".join(self._frames)
        if self._frames or not self._blocks:
            self._write()
        return tuple(self._blocks)

    def _write(self) -> None:
        self._blocks.append(self._writer.write(self._frames, self._size))
        self._frames, self._size = [], 0


class WaitingBlock(NamedTuple):
    """Some frames of a partition that wait for room."""

    frames: list[Buffer]
    want: Want


class KeptStream:
    """The frames of a kept partition, written into the pools piece by piece.

    Each piece is a block in a segment of its own, and may lie on another node than the last one.
    While a piece waits for room, the next one is filled. From where no pool has room on, the rest
    goes to disk; where it may not go there, the partition is given up.
    """

    def __init__(
        self,
        writer: SegmentWriter,
        requests: RoomRequests,
        rdd: RddId,
        level: StorageLevel,
        is_copy: bool,
        piece_bytes: int,
    ) -> None:
        self._writer = writer
        self._requests = requests
        self._rdd = rdd
        self._level = level
        self._is_copy = is_copy
        self._piece_bytes = piece_bytes
        self._frames: list[Buffer] = []
        self._size = 0
        self._waiting: WaitingBlock | None = None
        self._blocks: list[BlockRef] = []
        self._disk = None if level.useMemory else writer.open_on_disk()
        self._finished = False
        self.given_up = False

    @property
    def spilled_bytes(self) -> int:
        """The bytes that went to disk because no pool had room."""
        return self._disk.size if self._disk is not None and self._level.useMemory else 0

    def append(self, frame: list[Buffer]) -> None:
        if self._waiting is not None:
            self._place(wait=False)
        if self.given_up:
            return
        if self._disk is not None:
            self._disk.append(frame)
            return
        self._frames += detached(frame)
        self._size += frame_size(frame)
        if self._size >= self._piece_bytes:
            self._end_piece()

    def finish(self) -> tuple[BlockRef, ...]:
        """Returns the partition's blocks; none where it was given up."""
        is_one = self._waiting is None and not self._blocks and self._disk is None
        if is_one and not self.given_up:
            self._write_whole()
        elif self._frames:
            self._end_piece()
        if self._waiting is not None:
            self._place(wait=True)
        if self.given_up:
            return ()
        if self._disk is not None:
            self._blocks.append(self._disk.finish())
        self._finished = True
        return tuple(self._blocks)

    def close(self) -> None:
        """Removes the file of a partition that was not finished."""
        if self._disk is not None and not self._finished:
            self._disk.remove()

    def _write_whole(self) -> None:
        """Writes a partition that is no larger than a piece: small ones share a segment."""
        ref = self._writer.write_kept(
            self._rdd, self._frames, self._size, self._level.useDisk, self._is_copy
        )
        if ref is None:
            self._go_on_without_room(self._frames)
        else:
            self._blocks.append(ref)

    def _end_piece(self) -> None:
        if self._waiting is not None:
            self._place(wait=True)
        frames, size = self._frames, self._size
        self._frames, self._size = [], 0
        if self._disk is not None:
            self._disk.append(frames)
        elif not self.given_up:
            want = self._writer.want_kept(self._rdd, size, self._level.useDisk, self._is_copy)
            self._waiting = WaitingBlock(frames, want)
            self._requests.ask(want)

    def _place(self, wait: bool) -> None:
        """Writes the waiting piece where it was granted room, if that is known."""
        assert self._waiting is not None
        frames, want = self._waiting
        granted = self._requests.answer(want, wait)
        if granted is None:
            return
        self._waiting = None
        if granted.place is not None:
            try:
                self._blocks.append(self._writer.write_granted(want, granted.place, frames))
                return
            except (OSError, ClusterError):
                # The other node may be lost, or its memory smaller than configured.
                probe("a piece of a kept partition can't be written where there is room")
        self._go_on_without_room(frames)

    def _go_on_without_room(self, frames: list[Buffer]) -> None:
        if self._blocks:
            probe("a partition goes on where no pool has room")
        if not self._level.useDisk:
            self.given_up = True
            self._frames, self._size = [], 0
            return
        self._disk = self._writer.open_on_disk()
        self._disk.append(frames)
        if self._frames and self._frames is not frames:
            self._disk.append(self._frames)
        self._frames, self._size = [], 0
