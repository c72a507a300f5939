"""Marks of rarely taken ways: tests look which of them they have reached."""

from __future__ import annotations

from collections import Counter

reached: Counter[str] = Counter()


def probe(what: str) -> None:
    """Says that a way is taken which few runs take; each has a name of its own."""
    reached[what] += 1
