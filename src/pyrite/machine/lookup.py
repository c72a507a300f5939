"""The values of one side of a join by key, for the rows of the other."""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyrite.machine._rows import Groups

# How many values are kept as objects between two rows.
_MOST_KEPT = 65_536
_KEYS_PER_BATCH = 4096
_MODULUS = sys.hash_info.modulus
_LONGEST = 1 << 63
# No text is equal to one of these.
_NO_TEXTS = frozenset((int, float, bool, complex, bytes, tuple, frozenset, type(None)))


class Lookup(dict[Any, Sequence[Any]]):
    """The values of keys that were asked for, and of any other key from the groups behind it.

    It finds what a dict of all keys would: whatever is equal to one of them.
    """

    def __init__(
        self, groups: Groups, layout: str, missing: tuple[Any, ...], most: int | None = None
    ) -> None:
        """`layout` is that of the packed rows that were grouped; `missing` stands for the values of
        keys that they don't have. Of a key's values, no more than `most` are asked for."""
        super().__init__()
        self.groups = groups
        self.layout = layout
        self.missing = missing
        self.most = most
        self._kept = 0

    def __missing__(self, key: Any) -> Sequence[Any]:
        found = (self._values(key) or self.missing)[: self.most]
        self._kept += len(found) + 1
        if self._kept > _MOST_KEPT:
            self.clear()
            self._kept = len(found) + 1
        self[key] = found
        return found

    def _values(self, key: Any) -> list[Any] | None:
        own = str if self.layout[1] == "s" else int
        if type(key) is not own:
            equal = (each for each in self._candidates(key) if each == key)
            key = next(equal, None)
        return None if key is None else self.groups.find(self.layout[2:-1], key)

    def _candidates(self, key: Any) -> Iterator[Any]:
        """Keys of the groups with the hash of this one, which is none of their type."""
        if self.layout[1] == "i":
            found = self.groups.find
            yield from (each for each in _ints_with(hash(key)) if found(self.layout[2:-1], each))
            return
        if isinstance(key, str) and type(key).__hash__ is str.__hash__:
            yield str.__str__(key)
        elif type(key) not in _NO_TEXTS and self._has_hash(hash(key)):
            yield from (each for keys in self._keys() for each in keys if hash(each) == hash(key))

    def _has_hash(self, hashed: int) -> bool:
        place = bisect_left(self._hashes, hashed)
        return place < len(self._hashes) and self._hashes[place] == hashed

    @cached_property
    def _hashes(self) -> array[int]:
        """The hashes of all keys in order: most keys of another type are not among them, and there
        may be many."""
        return array("q", sorted(hash(each) for keys in self._keys() for each in keys))

    def _keys(self) -> Iterator[list[Any]]:
        for start in range(0, len(self.groups), _KEYS_PER_BATCH):
            yield self.groups.keys(start, start + _KEYS_PER_BATCH)


def _ints_with(hashed: int) -> Iterator[int]:
    """The ints of 64 bits with this hash.

    >>> list(_ints_with(5))[:2]
    [5, 2305843009213693956]
    """
    for rest in (abs(hashed), 1) if hashed == -2 else (abs(hashed),):
        for size in range(rest, _LONGEST + 1, _MODULUS):
            yield from (each for each in {size, -size} if hash(each) == hashed)
