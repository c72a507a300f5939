"""Whether a set gives its items in the order that the machine computes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pyrite.machine._rows import set_order

_SIZES = (0, 1, 4, 5, 6, 19, 20, 31, 77, 150, 700, 3000)
_LETTERS = "aZ\u00e9\u2603\U0001f600"


@lru_cache(maxsize=2)
def is_known(of_texts: bool) -> bool:
    """Compares some sets: the order depends on the version's growth of tables, and for texts on
    PYTHONHASHSEED, which is 0 in executors."""
    made = _text if of_texts else _int
    for size in _SIZES:
        items: list[Any] = [made(number) for number in range(size)]
        if set_order(items) != list(set(items)):
            return False
    return True


def _text(number: int) -> str:
    return f"{number * 7919 % 1009:x}" + _LETTERS[number % 5] * (number % 4)


def _int(number: int) -> int:
    size = (number % 977) << number % 50
    return -size if number % 3 else size
