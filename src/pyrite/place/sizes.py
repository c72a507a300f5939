"""Encodes the sizes of a map output's parts in one byte each, in steps of a tenth.

A map task reports the size of each reducer's part. Exact sizes would cost more than the prediction
made from them is worth; with a byte per part, 2,000 maps by 2,000 reducers take 4 MB.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import itemgetter

STEP = 1.1


def _scale() -> list[int]:
    """Returns the size of each code: 0, small sizes exactly, then each a tenth above the last."""
    levels = [0]
    while len(levels) < 256:
        levels.append(max(levels[-1] + 1, int(levels[-1] * STEP)))
    return levels


LEVELS = _scale()
LARGEST = LEVELS[-1]
# The least size of each code but 0; a size above 0 never becomes 0.
_LEAST = [1, *((low + high + 1) // 2 for low, high in pairwise(LEVELS[1:]))]
# The largest size of each code, except for sizes beyond LARGEST.
_MOST = [*(least - 1 for least in _LEAST), LARGEST]


def encode(sizes: Iterable[int]) -> bytes:
    """Encodes one byte per part; sizes beyond LARGEST count as LARGEST."""
    return bytes([bisect_right(_LEAST, size) for size in sizes])


def decode(code: bytes) -> list[int]:
    """Returns approximations of the encoded sizes."""
    return list(map(LEVELS.__getitem__, code))


def add_up(codes: Sequence[bytes], parts: int) -> list[int]:
    """Returns the decoded sizes of many map outputs, summed part by part."""
    if not codes:
        return [0] * parts
    level = LEVELS.__getitem__
    totals = list(map(sum, zip(*(map(level, code) for code in codes), strict=True)))
    if len(totals) != parts:
        raise ValueError(f"the map outputs have {len(totals)} parts each, not {parts}")
    return totals


def most(code: bytes, parts: Sequence[int]) -> int:
    """Returns an upper bound of these parts' total size, if none is beyond LARGEST."""
    if len(parts) < 2:
        return sum(_MOST[code[part]] for part in parts)
    return sum(map(_MOST.__getitem__, itemgetter(*parts)(code)))
