"""Errors between a program and its exchange; each names the shuffle and the cure."""

from __future__ import annotations

from collections.abc import Sequence

from pyrite.errors import ClusterError, UserError

# How many maps an error's text names; the attribute has all.
SHOWN = 10


class ExchangeNotStarted(ClusterError):
    """The exchange's process ended before it listened, or could not listen."""


class ExchangeLost(ClusterError):
    """The exchange does not answer: it was closed, or its processes have died."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(
            f"the exchange at {where} is lost: {reason}. If its owner still has it open, try "
            "again; else what was put there is gone: open another Exchange and put all maps again."
        )
        self.where = where
        self.reason = reason


class BlockServerLost(ExchangeLost):
    """The exchange's block server does not answer; the exchange's server may have a new one."""


class ExchangeFull(ClusterError):
    """Neither the pool nor the disk behind it took a map's output."""

    def __init__(self, shuffle: int, map: int, size_bytes: int, reason: str) -> None:
        super().__init__(
            f"the {size_bytes} bytes of map {map} of shuffle {shuffle} found no room in memory or "
            f"on disk: {reason}. Forget the shuffles that are done with, or open the Exchange "
            "with more memory or with local_dir on a larger disk."
        )
        self.shuffle = shuffle
        self.map = map
        self.size_bytes = size_bytes


class PartLost(ClusterError):
    """A part is corrupt, or its file is lost; its whole map counts as missing now."""

    def __init__(self, shuffle: int, map: int, reducer: int, reason: str) -> None:
        super().__init__(
            f"the part of map {map} for reducer {reducer} in shuffle {shuffle} {reason}. "
            f"Map {map} counts as missing now: put it again, then get the parts again."
        )
        self.shuffle = shuffle
        self.map = map
        self.reducer = reducer
        self.reason = reason


class TooManyFiles(ClusterError, OSError):
    """This process may not open a file for each segment of the exchange that it reads."""

    def __init__(self, segment: str) -> None:
        super().__init__(
            f"segment {segment} of the exchange can't be mapped: this process has as many files "
            "open as it may. Each segment takes a descriptor while you keep a view into it: copy "
            "parts that you keep for long, or allow more (ulimit -n)."
        )
        self.segment = segment


class MapsMissing(ClusterError, TimeoutError):
    """Not all maps were put while a reducer waited for them."""

    def __init__(self, shuffle: int, reducer: int, maps: Sequence[int]) -> None:
        shown = ", ".join(map(str, maps[:SHOWN])) + (", ..." if len(maps) > SHOWN else "")
        super().__init__(
            f"reducer {reducer} of shuffle {shuffle} has waited in vain for maps that are not "
            f"there ({len(maps)}): {shown}. Check the processes that should put them, or wait "
            "longer with timeout_s."
        )
        self.shuffle = shuffle
        self.reducer = reducer
        self.maps = list(maps)


class UnknownShuffle(UserError, LookupError):
    """The shuffle was forgotten, or is of another exchange."""

    def __init__(self, shuffle: int) -> None:
        super().__init__(
            f"the exchange has no shuffle {shuffle}, or not any more: it was forgotten. "
            "Register another one."
        )
        self.shuffle = shuffle


class AlreadyPut(UserError):
    """A map's output was put before, with other bytes."""

    def __init__(self, shuffle: int, map: int) -> None:
        super().__init__(
            f"map {map} of shuffle {shuffle} was put before, with other bytes. Where the new ones "
            "are as good (a retry), keep the old; else put them with replace=True."
        )
        self.shuffle = shuffle
        self.map = map


class NotInShuffle(UserError, ValueError):
    """The shuffle was not registered for this map, reducer or number of parts."""

    def __init__(self, shuffle: int, what: str, cure: str) -> None:
        super().__init__(f"shuffle {shuffle} {what}. {cure}")
        self.shuffle = shuffle
