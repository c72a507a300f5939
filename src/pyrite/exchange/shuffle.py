"""The handle of one shuffle: small, picklable, usable in any process."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import index
from time import monotonic
from typing import Any
from zlib import crc32

from pyrite.errors import UserError
from pyrite.exchange.errors import ExchangeFull, NotInShuffle, PartLost
from pyrite.exchange.outputs import PADDING, PartRef, aligned
from pyrite.exchange.reader import PartReader
from pyrite.exchange.serverconnection import CONNECTIONS, Place, ServerConnection


@dataclass(frozen=True, slots=True)
class Shuffle:
    """One shuffle of an exchange: maps put parts for all reducers, each reducer gets its own.

    A pickled handle holds the exchange's secret: anyone who can read it can read and put parts.
    """

    address: tuple[str, int]
    secret: bytes = field(repr=False)
    id: int
    maps: int
    reducers: int

    def put(self, map: int, parts: Iterable[Any], *, replace: bool = False) -> bool:
        """Puts a map's parts, one per reducer: each bytes-like, or a list of such buffers.

        They appear all at once, or not at all. The same parts put again, as by a retry, are
        ignored, and False is returned; other parts are an error without `replace`.
        """
        # JSON does not take numpy's integers.
        map, parts = index(map), list(parts)
        self._check_put(map, parts)
        buffers, ends, checks = self._laid_out(map, parts)
        size = ends[-1]

        def write(connection: ServerConnection) -> bool:
            try:
                ref = connection.write(buffers, size)
            except OSError as error:
                raise ExchangeFull(self.id, map, size, str(error)) from None
            block = [ref.segment, ref.offset, ref.length, ref.medium]
            was_kept: bool = connection.ask(
                "put", self.id, map, block, ends, checks, bool(replace)
            )[1]
            return was_kept

        return CONNECTIONS.move_bytes(self._place, write)

    def get(self, reducer: int, timeout_s: float | None = None) -> Iterator[memoryview]:
        """Iterates over the reducer's part of each map, in the order of maps, as read-only memory.

        Waits for missing maps, for at most `timeout_s` in all, or for ever; the first parts come
        while the last maps still run. A view keeps a segment of the pool in memory, and a
        descriptor: copy what you keep for long.
        """
        reducer = index(reducer)
        if not 0 <= reducer < self.reducers:
            raise NotInShuffle(
                self.id, f"has no reducer {reducer}", f"It has {self.reducers}, from 0 on."
            )
        return self._parts(reducer, self._wait_s(reducer, timeout_s))

    def missing(self) -> list[int]:
        """The missing maps: not put yet, or found to be lost."""
        found: list[int] = self._ask("missing")
        return found

    def sizes(self) -> list[int]:
        """The bytes for each reducer, of the maps that were put."""
        found: list[int] = self._ask("sizes")
        return found

    def forget(self) -> None:
        """Frees the shuffle; calls that wait for its maps raise UnknownShuffle."""
        with CONNECTIONS.borrow(self._place) as connection:
            connection.ask("forget", self.id)

    @property
    def _place(self) -> Place:
        return self.address, self.secret

    def _ask(self, what: str) -> Any:
        with CONNECTIONS.borrow(self._place) as connection:
            return connection.ask(what, self.id)[1]

    def _check_put(self, map: int, parts: Sequence[Any]) -> None:
        if not 0 <= map < self.maps:
            raise NotInShuffle(self.id, f"has no map {map}", f"It has {self.maps}, from 0 on.")
        if len(parts) != self.reducers:
            raise NotInShuffle(
                self.id,
                f"has {self.reducers} reducers, and map {map} was given {len(parts)} parts",
                "Give one for each reducer; an empty one is b''.",
            )

    def _laid_out(
        self, map: int, parts: Sequence[Any]
    ) -> tuple[list[memoryview | bytes], list[int], list[int]]:
        """Returns the buffers to write, the ends of the parts, and their checksums."""
        buffers: list[memoryview | bytes] = []
        ends: list[int] = []
        checks: list[int] = []
        offset = 0
        for reducer, part in enumerate(parts):
            padding = aligned(offset) - offset
            if padding:
                buffers.append(PADDING[padding])
            offset += padding
            check = 0
            for view in self._views(map, reducer, part):
                check = crc32(view, check)
                buffers.append(view)
                offset += len(view)
            ends.append(offset)
            checks.append(check)
        return buffers, ends, checks

    def _views(self, map: int, reducer: int, part: Any) -> list[memoryview]:
        try:
            pieces = part if isinstance(part, (list, tuple)) else [part]
            views = [memoryview(each) for each in pieces]
            return [view.cast("B") for view in views if view.nbytes]
        except (TypeError, ValueError, BufferError) as error:
            raise NotInShuffle(
                self.id,
                f"was given a part for reducer {reducer} by map {map} that is no bytes: {error}",
                "Give contiguous bytes-like objects, or lists of them; pickle others first.",
            ) from None

    def _wait_s(self, reducer: int, timeout_s: float | None) -> float | None:
        """Returns the seconds to wait; None is for ever."""
        if timeout_s is None:
            return None
        try:
            seconds = float(timeout_s)
        except (TypeError, ValueError, OverflowError):
            seconds = math.nan
        if not seconds >= 0:
            raise UserError(
                f"reducer {reducer} of shuffle {self.id} can't wait for timeout_s={timeout_s!r}: "
                "give seconds from 0 on, or None to wait for ever"
            )
        return None if seconds == math.inf else seconds

    def _parts(self, reducer: int, timeout_s: float | None) -> Iterator[memoryview]:
        reader: PartReader | None = None
        waited_s = 0.0
        map = 0
        while map < self.maps:
            left_s = None if timeout_s is None else max(0.0, timeout_s - waited_s)
            with CONNECTIONS.borrow(self._place) as connection:
                reader = reader or PartReader(connection)
                asked_s = monotonic()
                message = ("find", self.id, reducer, map, left_s)
                found = connection.ask(*message, wait_s=left_s)[1]
                waited_s += monotonic() - asked_s
            refs = [PartRef(*each) for each in found]
            for ref, part in zip(refs, reader.parts(refs), strict=True):
                if isinstance(part, str):
                    self._report_lost(map, reducer, ref, part)
                    # It was put again since, and is elsewhere now.
                    break
                map += 1
                yield part

    def _report_lost(self, map: int, reducer: int, ref: PartRef, reason: str) -> None:
        with CONNECTIONS.borrow(self._place) as connection:
            message = ("lost", self.id, map, reducer, ref.segment, ref.offset)
            if connection.ask(*message)[1]:
                raise PartLost(self.id, map, reducer, reason)
