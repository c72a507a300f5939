"""The records that a member has."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator

from pyrite.ring.claims import Claims
from pyrite.ring.keys import key_of, spans
from pyrite.ring.record import NEVER, Record, Version
from pyrite.ring.turn import RingTurn, Then


def record_item(path: str) -> str:
    """The name under which a record is saved."""
    return f"record {path}"


class Records:
    """The records of one member, and for which keys it claims to have all of them."""

    def __init__(self) -> None:
        self.table: dict[str, Record] = {}
        self.claims = Claims()
        self._keys: dict[str, int] = {}
        self._sorted: list[str] = []
        # Versions below these were dropped in this view: late copies of them don't count.
        self._floors: dict[str, Version] = {}
        # Paths whose records differ from what is on disk, for all that is known.
        self._unsaved: dict[str, None] = {}
        self._saving: dict[str, Version] = {}

    def load(self, records: Iterable[Record]) -> None:
        """Takes what was saved."""
        self.table = {record.path: record for record in records}
        self._keys = {path: key_of(path) for path in self.table}
        self._sorted = sorted(self.table)

    def get(self, path: str) -> Record:
        return self.table.get(path) or Record(path, NEVER, None)

    def put(self, record: Record) -> None:
        """Takes a record unless there is a newer one."""
        known = max(self.get(record.path).version, self._floors.get(record.path, NEVER))
        if record.version > known:
            self.change(record)

    def change(self, record: Record) -> None:
        """Takes a record, whatever there is."""
        if record.path not in self.table:
            self._keys[record.path] = key_of(record.path)
            insort(self._sorted, record.path)
        self.table[record.path] = record
        self._unsaved[record.path] = None

    def remove(self, path: str) -> None:
        """Forgets a path."""
        del self.table[path]
        del self._keys[path]
        del self._sorted[bisect_left(self._sorted, path)]
        self._unsaved[path] = None

    def drop(self, path: str, version: Version) -> None:
        """Forgets a path if it is still of this version, and all versions before it."""
        if path in self.table and self.table[path].version == version:
            self.remove(path)
            self._floors[path] = version

    def save(self, turn: RingTurn, then: Then, path: str | None = None) -> None:
        """Writes what is not on disk; calls `then` when the path is, or all of them are."""
        needed = {each: self.get(each).version for each in self._unsaved if path in (None, each)}
        fresh = [each for each, version in needed.items() if self._saving.get(each) != version]
        for each in fresh:
            self._saving[each] = needed[each]

        def saved(turn: RingTurn, is_saved: bool) -> None:
            for each in fresh:
                if self._saving.get(each) == needed[each]:
                    del self._saving[each]
                if is_saved and self.get(each).version == needed[each]:
                    self._unsaved.pop(each, None)
            missing = any(
                each in self._unsaved and self.get(each).version == version
                for each, version in needed.items()
            )
            then(turn, is_saved and not missing)

        turn.save([(record_item(each), self.table.get(each)) for each in fresh], saved)

    def forget_floors(self) -> None:
        """Copies of earlier views are refused from now on."""
        self._floors.clear()

    def within(self, start: int, end: int) -> Iterator[Record]:
        """The records whose keys lie after `start` and not after `end`."""
        pieces = spans(start, end)
        for path, key in self._keys.items():
            if any(low <= key < high for low, high in pieces):
                yield self.table[path]

    def paths(self, prefix: str) -> Iterator[str]:
        """The paths that start so, in order."""
        for index in range(bisect_left(self._sorted, prefix), len(self._sorted)):
            if not self._sorted[index].startswith(prefix):
                return
            yield self._sorted[index]

    def digest(self, start: int, end: int) -> int:
        """A number that agrees where the records of a range do."""
        total = 0
        for path, version, _, _ in self.within(start, end):
            total ^= key_of(f"{version} {path}")
        return total

    def claimed(self, start: int, end: int) -> list[tuple[int, int, int]]:
        """The claims for a range, which they cover."""
        return [piece for low, high in spans(start, end) for piece in self.claims.within(low, high)]

    def claim(self, start: int, end: int, view: int) -> None:
        """Claims a range."""
        for low, high in spans(start, end):
            self.claims.set(low, high, view)
