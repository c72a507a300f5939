"""Whether two values are alike: in value, in type, and in what is one object within them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

# Nobody should see whether two of these are one object.
UNCHANGING = (type(None), bool, int, float, complex, str, bytes, tuple, frozenset, range, slice)


def assert_alike(found: Any, expected: Any) -> None:
    """Fails with the path to the first difference."""
    _Comparison().compare(found, expected, "rows")


class _Comparison:
    def __init__(self) -> None:
        self.partners: dict[int, Any] = {}
        self.found: dict[int, Any] = {}

    def compare(self, found: Any, expected: Any, path: str) -> None:
        """Compares step by step, as values may be nested deeper than calls."""
        pending = [(found, expected, path)]
        while pending:
            left, right, where = pending.pop()
            assert type(left) is type(right), f"{where}: {left!r} instead of {right!r}"
            if self.is_new(left, right, where):
                pending += self.parts(left, right, where)

    def is_new(self, left: Any, right: Any, path: str) -> bool:
        if type(left) in UNCHANGING:
            return True
        known = id(right) in self.partners
        assert known == (id(left) in self.found), f"{path}: one object has become two, or two one"
        if known:
            assert self.partners[id(right)] is left, f"{path}: another object than before"
            return False
        self.partners[id(right)] = left
        self.found[id(left)] = right
        return True

    def parts(self, left: Any, right: Any, path: str) -> Iterable[tuple[Any, Any, str]]:
        if isinstance(left, list | tuple):
            assert len(left) == len(right), f"{path}: {len(left)} items instead of {len(right)}"
            return [
                (a, b, f"{path}[{i}]") for i, (a, b) in enumerate(zip(left, right, strict=True))
            ]
        if isinstance(left, np.ndarray) and left.dtype.hasobject:
            return [(left.tolist(), right.tolist(), path)]
        if isinstance(left, dict):
            return [
                (list(left), list(right), path),
                (list(left.values()), list(right.values()), path),
            ]
        if isinstance(left, set | frozenset):
            assert left == right, f"{path}: {left!r} instead of {right!r}"
            assert sorted(map(repr, left)) == sorted(map(repr, right)), path
            return ()
        if hasattr(left, "__dict__") and not isinstance(left, type) and not callable(left):
            assert repr(left) == repr(right), f"{path}: {left!r} instead of {right!r}"
            return [(vars(left), vars(right), path)]
        assert is_same(left, right), f"{path}: {left!r} instead of {right!r}"
        return ()


def is_same(left: Any, right: Any) -> bool:
    """Equal, telling 0.0 from -0.0 and taking nan for nan."""
    if isinstance(left, np.ndarray | np.generic):
        return left.dtype == right.dtype and left.tobytes() == right.tobytes()
    if isinstance(left, float):
        return math.copysign(1, left) == math.copysign(1, right) and (
            left == right or (left != left and right != right)
        )
    return bool(left == right) or repr(left) == repr(right)
