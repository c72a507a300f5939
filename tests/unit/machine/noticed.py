"""Functions that note rows for which they raise, and decide by what they noted."""

from __future__ import annotations

from typing import Any

from pyrite.machine.chain import Step

SEEN: list[Any] = []
# So many rows may raise.
FEW = 2


def noticing(steps: list[Step], instead: Any) -> list[Step]:
    """Steps of which the last notes rows that raise, and takes another row instead of them; when
    there were some, results are dropped."""
    kind, function = steps[-1]

    def noticed(row: Any) -> Any:
        try:
            return function(row)
        except Exception:
            SEEN.append(row)
            return function(instead)

    noticed.source = f"{function.source}\n# noticed, instead: {instead!r}"  # type: ignore[attr-defined]
    return [*steps[:-1], (kind, noticed), ("filter", is_calm)]


def is_calm(value: Any) -> bool:
    return len(SEEN) <= FEW
